// Command guest is the smallest useful module: it echoes what it is told. The
// tests of package guest build it and run it in wazero.
package main

import (
	"errors"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

func init() { guest.Register(&echo{}) }

func main() {}

// echo turns notifications into deltas and counts them; the count is its state.
type echo struct{ n int64 }

func (e *echo) Step(ev *abi.Event, out *guest.Effects) {
	switch {
	case ev.Message != nil:
		e.n++
		var d jsonwire.Decoder
		d.Reset(ev.Message.Params)
		delta := abi.Delta{Item: "i1", Channel: abi.ChannelText}
		for more := d.BeginObject(); more; {
			var k []byte
			if k, more = d.NextKey(); !more {
				break
			}
			if string(k) == "delta" {
				delta.Text = d.String()
			} else {
				d.Skip()
			}
		}
		out.Delta(&delta)
	case ev.Stop != nil:
		panic("echo: told to stop")
	case ev.Close != nil:
		out.Usage(&abi.Usage{Counters: []abi.Metric{{Name: "messages", Value: e.n}}})
	}
}

func (e *echo) Save(dst []byte) []byte { return jsonwire.AppendInt(dst, e.n) }

func (e *echo) Load(state []byte) error {
	var d jsonwire.Decoder
	d.Reset(state)
	n := d.Int()
	if !d.End() || n < 0 {
		return errors.New("echo: the state is not a count")
	}
	e.n = n
	return nil
}
