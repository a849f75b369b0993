package acptest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
)

// frame is one line of a recording.
type frame struct {
	Dir   string `json:"dir"`
	Frame struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int64           `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
	} `json:"frame"`
}

func readRecording(t testing.TB, name string) (frames []frame) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var x frame
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		frames = append(frames, x)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return frames
}

// Player drives a rig with a recording: what the recorded client sent becomes events of
// the host, what the agent sent becomes messages. Setters of the recorded client become
// the settings of the submission that they precede.
type Player struct {
	*Rig
	// Wish overrides the settings of the recorded setters, by number of the submission
	// from 1.
	Wish map[int]abi.Settings
	// Planning, Permissions and Model name the native values of the dialect.
	Mode func(native string, s *abi.Settings)

	frames  []frame
	calls   map[string]*frame
	open    map[string]*abi.Interaction
	replies map[string]abi.Reply
	waiting []int
	turns   int
	running string
	// stopped is the turn that was stopped.
	stopped string
	sent    map[int]bool
	// answered are the recorded calls whose answer came.
	answered map[string]bool
	// options is the whole list of config options told last.
	options json.RawMessage
}

// Play drives a new rig through a recording. reload saves and loads after every event.
func Play(t testing.TB, name string, reducer func() guest.Reducer, s *Schemas, reload bool, mode func(string, *abi.Settings), wish map[int]abi.Settings) *Rig {
	t.Helper()
	p := &Player{Rig: NewRig(t, reducer), Wish: wish, Mode: mode, frames: readRecording(t, name), calls: map[string]*frame{},
		open: map[string]*abi.Interaction{}, replies: map[string]abi.Reply{}, sent: map[int]bool{}, answered: map[string]bool{}}
	p.Keep, p.Schemas = !reload, s
	for i := range p.frames {
		if f := &p.frames[i]; f.Dir == "in" && f.Frame.Method != "" && f.Frame.ID != nil {
			p.calls[string(f.Frame.ID)] = f
		}
	}
	for i := range p.frames {
		switch p.frames[i].Dir {
		case "in":
			p.client(i)
		case "out":
			p.agent(&p.frames[i])
		}
		p.next()
	}
	return p.Rig
}

func (p *Player) client(i int) {
	p.T.Helper()
	f := &p.frames[i].Frame
	switch f.Method {
	case "initialize":
		p.Open(nil)
	case "session/set_config_option", "session/set_mode", "session/prompt":
		at := p.promptAfter(i)
		if at >= 0 && !p.sent[at] && !p.refused(at) {
			p.sent[at] = true
			p.waiting = append(p.waiting, at)
		}
	case "session/cancel":
		for key := range p.open {
			delete(p.open, key)
			p.after(p.Withdraw(key, abi.WithdrawStop))
		}
		p.stopped = p.running
		p.after(p.Stop(p.running))
	case "":
		p.reply(i)
	}
}

// promptAfter finds the prompt that a setter precedes.
func (p *Player) promptAfter(i int) int {
	for ; i < len(p.frames); i++ {
		if f := &p.frames[i]; f.Dir == "in" && f.Frame.Method == "session/prompt" {
			return i
		}
	}
	return -1
}

// refused reports whether the recorded agent refused a prompt because one was running,
// which a host never sends.
func (p *Player) refused(at int) bool {
	for _, f := range p.frames {
		if f.Dir == "out" && f.Frame.Method == "" && bytes.Equal(f.Frame.ID, p.frames[at].Frame.ID) {
			return f.Frame.Error != nil && f.Frame.Error.Code == -32600
		}
	}
	return false
}

// next submits what waits, once no turn runs, and answers setters that the recorded
// client never sent.
func (p *Player) next() {
	p.T.Helper()
	for p.running == "" && len(p.waiting) > 0 && p.Ready() {
		at := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.turns++
		var sent struct {
			Prompt []struct{ Text string }
			Meta   struct {
				PromptID string `json:"promptId"`
			} `json:"_meta"`
		}
		if err := json.Unmarshal(p.frames[at].Frame.Params, &sent); err != nil {
			p.T.Fatal(err)
		}
		s := abi.Submit{Turn: "t" + string(rune('0'+p.turns)), ClientID: sent.Meta.PromptID, Origin: abi.OriginUser, Settings: p.settings(at)}
		if w, ok := p.Wish[p.turns]; ok {
			s.Settings = w
		}
		for _, c := range sent.Prompt {
			s.Content = append(s.Content, abi.Content{Type: abi.ContentText, Text: c.Text})
		}
		p.running = s.Turn
		p.after(p.Step("submit "+s.Turn, abi.Event{Submit: &s}))
		for len(p.Calls) > 0 && p.unrecorded(p.Calls[0]) {
			p.answerSetter(p.Calls[0])
		}
	}
	for len(p.Calls) > 0 && p.unrecorded(p.Calls[0]) {
		p.answerSetter(p.Calls[0])
	}
}

// Ready reports whether the reducer takes submissions.
func (p *Player) Ready() bool { return len(Only(p.All, Ready)) > 0 }

// settings are those that the recorded client had set when it sent a prompt.
func (p *Player) settings(at int) (s abi.Settings) {
	for i := range p.frames[:at] {
		f := &p.frames[i]
		if f.Dir != "in" {
			continue
		}
		var x struct{ ConfigID, Value, ModeID string }
		switch f.Frame.Method {
		case "session/set_mode":
			_ = json.Unmarshal(f.Frame.Params, &x)
			p.Mode(x.ModeID, &s)
		case "session/set_config_option":
			_ = json.Unmarshal(f.Frame.Params, &x)
			switch x.ConfigID {
			case "model":
				s.Model = x.Value
			case "effort":
				s.Effort = x.Value
			default:
				p.Mode(x.Value, &s)
			}
		case "session/prompt":
			// A review may have left planning; the next prompt says what it wants.
			s.Mode = ""
		}
	}
	return s
}

func setterKey(params []byte) string {
	var x struct{ ConfigID, Value, ModeID string }
	_ = json.Unmarshal(params, &x)
	return x.ConfigID + "=" + x.Value + x.ModeID
}

// unrecorded reports whether a setter of ours has no recorded answer left.
func (p *Player) unrecorded(c *abi.Call) bool {
	if c.Method != "session/set_config_option" && c.Method != "session/set_mode" {
		return false
	}
	for i := range p.frames {
		f := &p.frames[i]
		if f.Dir == "in" && f.Frame.Method == c.Method && setterKey(f.Frame.Params) == setterKey(c.Params) && p.pendingAnswer(i) {
			return false
		}
	}
	return true
}

// pendingAnswer reports whether the answer to a recorded call is still to come.
func (p *Player) pendingAnswer(i int) bool { return !p.answered[string(p.frames[i].Frame.ID)] }

func (p *Player) answerSetter(c *abi.Call) {
	p.T.Helper()
	var x struct{ ConfigID, Value, ModeID string }
	_ = json.Unmarshal(c.Params, &x)
	if c.Method == "session/set_mode" {
		p.after(p.Result(c.Method, "{}"))
		p.after(p.Notify("session/update", `{"sessionId":"`+p.session()+`","update":{"sessionUpdate":"current_mode_update","currentModeId":"`+x.ModeID+`"}}`))
		return
	}
	var list []map[string]any
	if err := json.Unmarshal(p.options, &list); err != nil {
		p.T.Fatal(err)
	}
	for _, o := range list {
		if o["id"] == x.ConfigID {
			o["currentValue"] = x.Value
		}
	}
	b, _ := json.Marshal(map[string]any{"configOptions": list})
	p.after(p.Result(c.Method, string(b)))
}

func (p *Player) session() string { return Only(p.All, Ready)[0].NativeSession }

func (p *Player) agent(f *frame) {
	p.T.Helper()
	m := &f.Frame
	var told struct {
		ConfigOptions json.RawMessage
		Update        struct{ ConfigOptions json.RawMessage }
	}
	_ = json.Unmarshal(m.Result, &told)
	if told.ConfigOptions == nil {
		_ = json.Unmarshal(m.Params, &told)
		told.ConfigOptions = told.Update.ConfigOptions
	}
	if told.ConfigOptions != nil {
		p.options = told.ConfigOptions
	}
	switch {
	case m.Method != "" && m.ID == nil:
		p.after(p.Notify(m.Method, string(m.Params)))
	case m.Method != "":
		_, effects := p.Ask(string(m.ID), m.Method, string(m.Params))
		for _, x := range Only(effects, Opened) {
			if first, ok := p.replies[x.Continues]; ok && x.Continues != "" {
				p.replies[x.Key] = first
				p.after(p.Answer(x.Key, first))
				continue
			}
			switch {
			case p.running == "":
				p.after(p.Withdraw(x.Key, abi.WithdrawUnsolicited))
				continue
			case p.stopped == p.running:
				p.after(p.Withdraw(x.Key, abi.WithdrawStop))
				continue
			}
			p.open[x.Key] = x
		}
		p.after(effects)
	default:
		c := p.calls[string(m.ID)]
		p.answered[string(m.ID)] = true
		if c == nil || c.Frame.Method == "session/prompt" && m.Error != nil && m.Error.Code == -32600 {
			return
		}
		switch c.Frame.Method {
		case "session/set_config_option", "session/set_mode":
			w := p.Waits(c.Frame.Method)
			if w == nil || setterKey(w.Params) != setterKey(c.Frame.Params) {
				return
			}
		default:
			if p.Waits(c.Frame.Method) == nil {
				return
			}
		}
		if m.Error != nil {
			p.after(p.Fail(c.Frame.Method, abi.CallError{Code: m.Error.Code, Message: m.Error.Message, Data: abi.Raw(m.Error.Data)}))
		} else {
			p.after(p.Result(c.Frame.Method, string(m.Result)))
		}
	}
}

// after notes the end of a turn.
func (p *Player) after(effects []abi.Effect) {
	for i := range effects {
		e := &effects[i]
		if e.TurnEnded != nil && e.TurnEnded.Turn == p.running || e.Delivery != nil && e.Delivery.Turn == p.running && e.Delivery.Status != abi.DeliveryAccepted {
			p.running = ""
		}
		if e.InteractionClosed != nil {
			delete(p.open, e.InteractionClosed.Key)
		}
	}
}

// reply turns a recorded reply into a person's answer.
func (p *Player) reply(i int) {
	p.T.Helper()
	f := &p.frames[i].Frame
	for key, x := range p.open {
		if !p.asks(i, x) {
			continue
		}
		delete(p.open, key)
		reply := p.personal(i, x, f.Result)
		p.replies[key] = reply
		p.after(p.Step("answer", abi.Event{Answer: &abi.Answer{Key: key, Reply: reply}}))
		return
	}
}

// asks reports whether the recorded request that a reply answers is the one that
// opened x: the newest with its id before it.
func (p *Player) asks(i int, x *abi.Interaction) bool {
	n := 0
	for j := range p.frames[:i] {
		f := &p.frames[j]
		if f.Dir == "out" && f.Frame.Method != "" && f.Frame.ID != nil {
			n++
			if bytes.Equal(f.Frame.ID, p.frames[i].Frame.ID) && strings.HasSuffix(x.Token, "q"+itoa(n)) {
				return true
			}
		}
	}
	return false
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

func (p *Player) personal(i int, x *abi.Interaction, result json.RawMessage) (r abi.Reply) {
	var in struct {
		Outcome  any
		Feedback string
		Action   abi.Action
		Content  map[string]json.RawMessage
		Answers  map[string][]string
	}
	if err := json.Unmarshal(result, &in); err != nil {
		p.T.Fatal(err)
	}
	switch x.Type {
	case abi.InteractionPermission, abi.InteractionReview:
		switch o := in.Outcome.(type) {
		case map[string]any:
			r.Decision, _ = o["optionId"].(string)
		case string:
			r.Decision = o
		}
		r.Feedback = in.Feedback
		for _, d := range x.Decisions {
			if d.ID == r.Decision && d.Feedback && r.Feedback == "" {
				r.Feedback = p.words(i)
			}
		}
		if r.Decision == "abandoned" {
			// Never sent: it is not offered.
			r.Decision = "cancelled"
		}
	case abi.InteractionQuestion:
		for _, f := range x.Fields {
			a := abi.FieldAnswer{Field: f.ID, State: abi.StateAnswered}
			chosen := in.Answers[f.Text]
			for _, name := range []string{f.ID, "value"} {
				var one string
				var many []string
				if json.Unmarshal(in.Content[name], &one) == nil {
					chosen = append(chosen, one)
				} else if json.Unmarshal(in.Content[name], &many) == nil {
					chosen = append(chosen, many...)
				}
			}
			for n, o := range f.Options {
				for _, c := range chosen {
					if c == o.Label || c == o.Value {
						a.Selected = append(a.Selected, int64(n))
					}
				}
			}
			r.Fields = append(r.Fields, a)
		}
	default:
		r.Action = in.Action
		if in.Content != nil {
			r.Content, _ = json.Marshal(in.Content)
		}
	}
	return r
}

// words are those that the recorded person typed into the form after a reply.
func (p *Player) words(i int) string {
	for _, f := range p.frames[i+1:] {
		if f.Dir == "in" && f.Frame.Method == "" {
			var in struct {
				Content struct{ Value string }
			}
			_ = json.Unmarshal(f.Frame.Result, &in)
			return in.Content.Value
		}
	}
	return ""
}
