// Package parrot is the smallest binding that works: its agent (see agent) has one
// mode, no questions, and repeats what it is told. docs/bindings.md builds it step by
// step; bindings-src has real ones.
package parrot

import (
	"fmt"
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// The binding's names for its calls. Only one of each is ever under way.
const (
	tokenStart = "start"
	tokenSay   = "say"
)

// mode is the agent's only one.
const mode = "default"

// Reducer is the state machine of one session. The zero value waits for its first
// open event.
type Reducer struct {
	// turn is the turn whose text the agent has, empty when it has none.
	turn string
	// asked is the session that was to be restored, used whether it ever had a
	// message.
	asked string
	used  bool
}

var _ guest.Reducer = (*Reducer)(nil)

// Step handles one event. What it does not know it leaves alone.
func (r *Reducer) Step(ev *abi.Event, out *guest.Effects) {
	switch {
	case ev.Open != nil:
		*r = Reducer{asked: ev.Open.NativeSession, used: ev.Open.Used}
		out.Call(&abi.Call{Token: tokenStart, Method: "start", Params: abi.Raw(`{}`)})
	case ev.Submit != nil:
		r.submit(ev.Submit, out)
	case ev.Message != nil:
		r.message(ev.Message, out)
	}
	// There is no way to stop this agent; the manifest lets the host end it.
}

func (r *Reducer) submit(s *abi.Submit, out *guest.Effects) {
	// The whole of the settings must be in force, or nothing is sent.
	for _, wish := range []struct{ field, code, value, has string }{
		{"mode", "unknown_mode", s.Settings.Mode, mode},
		{"permission", "unknown_permission", string(s.Settings.Permission), string(abi.PermissionDefault)},
		{"model", "unknown_model", s.Settings.Model, ""},
		{"effort", "unknown_effort", s.Settings.Effort, ""},
	} {
		if wish.value != "" && wish.value != wish.has {
			text := fmt.Sprintf("The parrot has no %s %q.", wish.field, wish.value)
			out.Problem(&abi.Problem{Code: wish.code, Field: wish.field, Message: text, Needs: abi.NeedsChoice})
			out.Delivery(&abi.Delivery{Turn: s.Turn, Status: abi.DeliveryNotSent, Code: wish.code, Message: text})
			return
		}
	}
	var text []string
	for _, c := range s.Content {
		text = append(text, c.Text)
	}
	r.turn = s.Turn
	params := jsonwire.AppendField([]byte("{"), "text", strings.Join(text, "\n"))
	out.Call(&abi.Call{Token: tokenSay, Method: "say", Params: append(params, '}'), Delivers: s.Turn})
}

func (r *Reducer) message(m *abi.Message, out *guest.Effects) {
	switch {
	case m.Type == abi.MessageResult && m.Token == tokenStart:
		ready := abi.Ready{
			NativeSession: member(m.Result, "session"), Restored: abi.RestoredNew, ProviderVersion: member(m.Result, "version"),
			Catalog: abi.Catalog{
				Modes:       []abi.ModeChoice{{ID: mode, Meaning: abi.MeaningExecution}},
				Permissions: []abi.PermissionChoice{{Permission: abi.PermissionDefault, Support: abi.SupportNative}},
			},
			Capabilities: abi.Capabilities{Steering: abi.SteeringNone},
		}
		if r.asked != "" && r.used {
			ready.Restored, ready.Reason = abi.RestoredReplaced, "The parrot forgets everything when it stops."
		}
		out.Ready(&ready)
	case m.Type == abi.MessageError && m.Token == tokenStart:
		out.Problem(&abi.Problem{Code: "launch_failed", Field: "session", Message: "The parrot does not start: " + m.Error.Message})
	case m.Type == abi.MessageResult && m.Token == tokenSay:
		turn := r.turn
		r.turn = ""
		out.Delivery(&abi.Delivery{Turn: turn, Status: abi.DeliveryAccepted, Evidence: "say response"})
		out.TurnStarted(&abi.TurnStarted{Turn: turn})
		out.Item(&abi.Item{Turn: turn, ID: turn + ".answer", Type: abi.ItemMessage, Status: abi.ItemCompleted, Text: member(m.Result, "text")})
		out.TurnEnded(&abi.TurnEnded{Turn: turn, Status: abi.TurnCompleted})
	case m.Type == abi.MessageError && m.Token == tokenSay:
		// The agent's own error proves that it did nothing; a local one proves nothing.
		d := abi.Delivery{Turn: r.turn, Status: abi.DeliveryRejected, Message: m.Error.Message}
		if m.Error.Local != "" {
			d.Status = abi.DeliveryUnknown
		}
		r.turn = ""
		out.Delivery(&d)
	}
}

// member is a string member of a JSON object, empty if it is not there.
func member(object abi.Raw, name string) (value string) {
	var d jsonwire.Decoder
	d.Reset(object)
	if !d.BeginObject() {
		return ""
	}
	for key, ok := d.NextKey(); ok; key, ok = d.NextKey() {
		if string(key) == name {
			value = d.String()
		} else {
			d.Skip()
		}
	}
	return value
}

// Save writes the state as a JSON object.
func (r *Reducer) Save(dst []byte) []byte {
	dst = jsonwire.AppendField(append(dst, '{'), "turn", r.turn)
	dst = jsonwire.AppendField(dst, "asked", r.asked)
	return append(jsonwire.AppendBool(jsonwire.AppendKey(dst, "used"), r.used), '}')
}

// Load restores what Save wrote.
func (r *Reducer) Load(state []byte) error {
	var d jsonwire.Decoder
	d.Reset(state)
	*r = Reducer{}
	if d.BeginObject() {
		for key, ok := d.NextKey(); ok; key, ok = d.NextKey() {
			switch string(key) {
			case "turn":
				r.turn = d.String()
			case "asked":
				r.asked = d.String()
			case "used":
				r.used = d.Bool()
			default:
				d.Skip()
			}
		}
	}
	d.End()
	return d.Err()
}
