package acp

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/lists"
	"github.com/aoagents/ao-host/bindings-src/savedstate"
)

// toolWaitMS is how long a form waits for the update of the tool call it names.
const toolWaitMS = 2_000

// maxHeld bounds the forms that wait.
const maxHeld = 16

// heldForm is a form that came before the update of its tool call: only the tool's
// name says whether it is a questionnaire (seen on the Claude adapter 0.49.0, where
// the two race).
type heldForm struct{ token, id, params, tool string }

func (h *heldForm) walk(w *savedstate.Walker) {
	w.Str("token", &h.token)
	w.Str("id", &h.id)
	w.Str("params", &h.params)
	w.Str("tool", &h.tool)
}

// holdForm keeps a form back until its tool call is known and reports whether it did.
func (r *Reducer) holdForm(m *abi.Message, session, toolCall string, out *guest.Effects) bool {
	if r.d.Questionnaire == nil || toolCall == "" || r.find(toolCall, r.foreign(session)) != nil {
		return false
	}
	if r.cur == nil || r.cur.cancelled || len(r.held) == maxHeld {
		return false
	}
	// They are opened together, in the step of an update that may be short.
	waiting := len(m.Params)
	for i := range r.held {
		waiting += len(r.held[i].params)
	}
	if waiting > maxToolBytes {
		return false
	}
	r.held = append(r.held, heldForm{token: m.Token, id: lists.ID(string(m.ID)), params: string(m.Params), tool: lists.ID(toolCall)})
	out.TimerSet(&abi.TimerSet{Name: timerTool, AfterMS: toolWaitMS})
	return true
}

// release opens the forms that wait and are chosen, in their order.
func (r *Reducer) release(chosen func(h *heldForm) bool, out *guest.Effects) {
	if len(r.held) == 0 {
		return
	}
	all := r.held
	r.held = nil
	for _, h := range all {
		if !chosen(&h) {
			r.held = append(r.held, h)
			continue
		}
		m := &abi.Message{Type: abi.MessageRequest, Method: MethodElicitationCreate, Token: h.token, ID: abi.Raw(h.id), Params: abi.Raw(h.params)}
		r.openElicitation(m, false, out)
	}
	if len(r.held) == 0 {
		out.TimerClear(&abi.TimerClear{Name: timerTool})
	}
}

func everyForm(*heldForm) bool { return true }
