package abi

import (
	"errors"

	"github.com/aoagents/ao-host/abi/jsonwire"
)

// Errors of the codec, besides those of package jsonwire.
var (
	// ErrNotObject: an event or effect is not a JSON object.
	ErrNotObject = errors.New("abi: not a JSON object")
	// ErrNotArray: the output of a step is not a JSON array.
	ErrNotArray = errors.New("abi: the output of a step is not a JSON array of effects")
	// ErrManyKinds: an event or effect names more than one kind.
	ErrManyKinds = errors.New("abi: more than one kind in one object; put each into an object of its own")
	// ErrNoKind: an effect names no kind that this ABI version knows.
	ErrNoKind = errors.New("abi: no known kind in an effect; check the ABI range of the manifest")
)

// AppendEvent appends e as JSON.
func AppendEvent(dst []byte, e *Event) []byte { return e.AppendJSON(dst) }

// DecodeEvent decodes one event and nothing after it. Raw members alias b. An
// event of a kind that is not known has no pointer set and is no error: a guest
// answers it with no effects.
func DecodeEvent(b []byte) (Event, error) {
	var d EventDecoder
	ev, err := d.decode(b)
	return *ev, err
}

// EventDecoder decodes events one after the other. It reuses what it can: a
// notification, which is nearly all of the traffic, costs no allocation. The
// zero value is ready.
type EventDecoder struct {
	d       jsonwire.Decoder
	ev      Event
	message Message
	err     CallError
}

// Decode decodes one event. The event is valid until the next call, its strings
// for ever; Raw members alias b.
func (x *EventDecoder) Decode(b []byte) (*Event, error) {
	x.d.Intern()
	return x.decode(b)
}

func (x *EventDecoder) decode(b []byte) (*Event, error) {
	d := &x.d
	d.Reset(b)
	x.ev = Event{}
	if d.Kind() != jsonwire.Object {
		d.Skip()
		return &x.ev, cmpErr(d.Err(), ErrNotObject)
	}
	for more := d.BeginObject(); more; {
		var k []byte
		if k, more = d.NextKey(); !more {
			break
		}
		if string(k) == "message" && d.Kind() == jsonwire.Object {
			x.decodeMessage()
		} else {
			x.ev.decodeMember(d, k)
		}
	}
	d.End()
	if err := d.Err(); err != nil {
		return &x.ev, err
	}
	if x.ev.kinds() > 1 {
		return &x.ev, ErrManyKinds
	}
	return &x.ev, nil
}

func (x *EventDecoder) decodeMessage() {
	d := &x.d
	x.message = Message{}
	x.ev.Message = &x.message
	for more := d.BeginObject(); more; {
		var k []byte
		if k, more = d.NextKey(); !more {
			break
		}
		if string(k) == "error" && d.Kind() == jsonwire.Object {
			x.err = CallError{}
			x.message.Error = &x.err
			x.err.DecodeJSON(d)
		} else {
			x.message.decodeMember(d, k)
		}
	}
}

// AppendEffects appends effects as a JSON array, which is never null.
func AppendEffects(dst []byte, effects []Effect) []byte {
	dst = append(dst, '[')
	for i := range effects {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = effects[i].AppendJSON(dst)
	}
	return append(dst, ']')
}

// DecodeEffects decodes the output of a step. Raw members alias b, which in the
// host is guest memory: copy what must outlive the next call. Every element must
// name exactly one known kind; the host ignores no effect silently.
func DecodeEffects(b []byte) ([]Effect, error) {
	var d EffectsDecoder
	return d.decode(b)
}

// EffectsDecoder decodes the output of one step after the other, reusing the
// slice and repeated ids. The zero value is ready.
type EffectsDecoder struct {
	d       jsonwire.Decoder
	effects []Effect
}

// Decode decodes the output of a step as [DecodeEffects] does. The slice is
// valid until the next call; what its elements point to is not reused.
func (x *EffectsDecoder) Decode(b []byte) ([]Effect, error) {
	x.d.Intern()
	return x.decode(b)
}

func (x *EffectsDecoder) decode(b []byte) ([]Effect, error) {
	d := &x.d
	d.Reset(b)
	// Let go of the step before, also where this one has fewer effects.
	clear(x.effects)
	x.effects = x.effects[:0]
	if d.Kind() != jsonwire.Array {
		d.Skip()
		return nil, cmpErr(d.Err(), ErrNotArray)
	}
	for more := d.BeginArray(); more && d.NextElem(); {
		if d.Kind() != jsonwire.Object {
			d.Skip()
			return nil, cmpErr(d.Err(), ErrNotObject)
		}
		x.effects = append(x.effects, Effect{})
		e := &x.effects[len(x.effects)-1]
		e.DecodeJSON(d)
		switch n := e.kinds(); {
		case d.Err() != nil:
			return nil, d.Err()
		case n == 0:
			return nil, ErrNoKind
		case n > 1:
			return nil, ErrManyKinds
		}
	}
	if !d.End() {
		return nil, d.Err()
	}
	return x.effects, nil
}

func cmpErr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}
