// Package client is the typed client of the HTTP API that host.Handler serves. A
// [Client] has the methods of host.Host, with the same types and errors, so a
// program can be written against either:
//
//	c := client.Unix("/run/user/1000/ao-host.sock", client.Options{})
//	t, err := c.Send(ctx, id, host.Message{Content: host.Text("Add a test")})
//	for ev, err := range c.Events(ctx, id, 0) { … }
//
// Every mutation carries an idempotency key of its own, so one whose connection
// breaks is sent again by itself and still happens once. Events goes on where it
// stopped when its connection breaks. A host that cannot be reached is told as
// host_unreachable.
package client
