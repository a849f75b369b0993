// Package host is the core of ao-host: durable intent, the submission queue and
// the identity of every interaction, for any coding-agent harness that has a
// binding.
//
// Open a [Host] on a data folder, create a conversation, send messages and read
// the journal:
//
//	h, err := host.Open(ctx, host.Config{Dir: dir})
//	c, err := h.Create(ctx, host.NewConversation{Harness: "…", Cwd: "/project"})
//	t, err := h.Send(ctx, c.ID, host.Message{Content: host.Text("Add a test")})
//	for ev, err := range h.Events(ctx, c.ID, 0) { … }
//
// Every method is safe for concurrent use. A method that accepts something
// returns after it is committed (rule 19); a method that fails says so with an
// [*Error] whose code is stable.
package host
