package codex

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// steering is a message for the running turn. Codex has no settings for it: it
// runs under those of the turn it joins.
type steering struct {
	id, client, turn string
	input            string
	sent, settled    bool
}

// steer sends a message into the running turn with turn/steer.
func (r *Reducer) steer(s *abi.Steer, out *guest.Effects) {
	refuse := func(code, message string) {
		out.Delivery(&abi.Delivery{Turn: s.Steer, Status: abi.DeliveryNotSent, Code: code, Message: message})
	}
	if r.cur == nil || r.cur.id != s.Turn || r.cur.stop {
		refuse("turn_not_running", "The turn to steer is no longer running.")
		return
	}
	if len(s.Content) == 0 {
		refuse("content_empty", "The message has no content.")
		return
	}
	if bad := r.checkContent(s.Content, r.observed.Model); bad != nil {
		refuse(bad.code, bad.message)
		return
	}
	r.steers = append(r.steers, steering{
		id: s.Steer, client: s.ClientID, turn: s.Turn, input: string(appendInput(nil, s.Content)),
	})
	if r.cur.started {
		r.sendSteers(out)
	}
	// Else turn/started sends it: there is no active turn to steer before.
}

// sendSteers sends what waits for the running turn.
func (r *Reducer) sendSteers(out *guest.Effects) {
	for i := range r.steers {
		s := &r.steers[i]
		if s.sent || s.turn != r.cur.id {
			continue
		}
		s.sent = true
		p := append(r.buf[:0], '{')
		p = jsonwire.AppendField(p, FieldThreadID, r.session)
		p = jsonwire.AppendField(p, FieldClientUserMessageID, s.client)
		p = append(jsonwire.AppendKey(p, FieldInput), s.input...)
		p = jsonwire.AppendField(p, FieldExpectedTurnID, r.cur.native)
		p = append(p, '}')
		s.input = ""
		r.call(out, &abi.Call{Token: tokenSteer + s.id, Method: MethodTurnSteer, Params: p, Delivers: s.id})
	}
}

// steerAnswered settles a steering message; err is nil when it was taken.
func (r *Reducer) steerAnswered(id string, err *abi.CallError, out *guest.Effects) {
	for i := range r.steers {
		s := &r.steers[i]
		if s.id != id {
			continue
		}
		if !s.settled {
			s.settled = true
			out.Delivery(steerDelivery(id, err))
		}
		r.forgetSteers()
		return
	}
}

func steerDelivery(id string, err *abi.CallError) *abi.Delivery {
	if err == nil {
		return &abi.Delivery{Turn: id, Status: abi.DeliveryAccepted, Evidence: MethodTurnSteer}
	}
	d := &abi.Delivery{Turn: id, Status: abi.DeliveryUnknown, Code: err.Local, Message: err.Message}
	switch err.Local {
	case "":
		d.Status, d.Code = abi.DeliveryRejected, "steer_refused"
	case localSchema:
		d.Status = abi.DeliveryNotSent
	}
	return d
}

// dropSteers ends those that were never sent because their turn is over.
func (r *Reducer) dropSteers(out *guest.Effects) {
	for i := range r.steers {
		if s := &r.steers[i]; !s.sent {
			s.sent, s.settled, s.input = true, true, ""
			out.Delivery(&abi.Delivery{Turn: s.id, Status: abi.DeliveryNotSent, Code: "turn_not_running", Message: "The turn to steer ended before the message could be sent."})
		}
	}
	r.forgetSteers()
}

// forgetSteers drops settled messages whose turn is over.
func (r *Reducer) forgetSteers() {
	kept := r.steers[:0]
	for _, s := range r.steers {
		if !s.settled || r.cur != nil && r.cur.id == s.turn {
			kept = append(kept, s)
		}
	}
	r.steers = kept
}

// proveDelivery notes that the thread has a message of ours.
func (r *Reducer) proveDelivery(client string, native []byte, out *guest.Effects) {
	if r.cur != nil && r.cur.client == client {
		if r.cur.native != string(native) && len(native) > 0 {
			if r.own != nil && r.own.native == string(native) {
				r.join(out)
			} else {
				r.release(r.cur, out)
				r.cur.native = string(native)
			}
		}
		r.accept(EnumThreadItemTypeUserMessage, out)
		if r.cur.done {
			r.end(r.cur, out)
		} else {
			r.begin(r.cur, out)
		}
		return
	}
	for i := range r.steers {
		if s := &r.steers[i]; s.client == client && !s.settled {
			s.settled = true
			out.Delivery(&abi.Delivery{Turn: s.id, Status: abi.DeliveryAccepted, Evidence: EnumThreadItemTypeUserMessage})
			return
		}
	}
}
