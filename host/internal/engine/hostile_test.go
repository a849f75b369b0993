package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
	"github.com/aoagents/ao-host/bindings-src/claude"
	"github.com/aoagents/ao-host/bindings-src/codex"
	"github.com/aoagents/ao-host/bindings-src/grok"
	"github.com/aoagents/ao-host/bindings-src/kimchi"
	"github.com/aoagents/ao-host/host/internal/engine"
)

const (
	grokModule   = "github.com/aoagents/ao-host/bindings-src/grok/module"
	kimchiModule = "github.com/aoagents/ao-host/bindings-src/kimchi/module"
)

// codexState is the saved state of the Codex binding before the event that holds mark,
// or with its turn running.
func codexState(tb testing.TB, mark string) []byte {
	tb.Helper()
	m := guest.NewMachine(codex.New())
	for _, ev := range codexSession(tb) {
		if mark != "" && bytes.Contains(ev, []byte(mark)) {
			break
		}
		if _, err := m.Step(bytes.Clone(ev)); err != nil {
			tb.Fatal(err)
		}
	}
	return bytes.Clone(m.Save())
}

// acpRig runs the events that lead to a running turn and returns the rig.
func acpRig(tb testing.TB, reducer func() guest.Reducer, steps ...func(*acptest.Rig)) *acptest.Rig {
	tb.Helper()
	r := acptest.NewRig(tb, reducer)
	r.Keep = true
	r.Open(nil)
	r.Result("initialize", `{"protocolVersion":1,"agentCapabilities":{}}`)
	for _, step := range steps {
		step(r)
	}
	return r
}

func acpSession(r *acptest.Rig) { r.Result("session/new", `{"sessionId":"s-1"}`) }

func acpTurn(r *acptest.Rig) {
	acpSession(r)
	r.Submit("t1", abi.Settings{})
	r.Notify("session/update", acpChunk("hello"))
}

func newClaude() guest.Reducer { return claude.New() }
func newGrok() guest.Reducer   { return grok.New() }
func newKimchi() guest.Reducer { return kimchi.New() }

func asked(method, params string) abi.Event {
	return abi.Event{Message: &abi.Message{Type: abi.MessageRequest, Method: method, Token: "r1.9", ID: abi.Raw("7"), Params: abi.Raw(params)}}
}

func notified(method, params string) abi.Event {
	return abi.Event{Message: &abi.Message{Type: abi.MessageNotification, Method: method, Params: abi.Raw(params)}}
}

func result(method, token, body string) abi.Event {
	return abi.Event{Message: &abi.Message{Type: abi.MessageResult, Method: method, Token: token, Result: abi.Raw(body)}}
}

// many is n elements of an array; %d in one is its number.
func many(n int, element string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(element, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

// answers answers n fields, the last one first.
func answers(key string, n int, field string) abi.Event {
	a := &abi.Answer{Key: key}
	for i := range n {
		a.Reply.Fields = append(a.Reply.Fields, abi.FieldAnswer{Field: fmt.Sprintf(field, n-1-i), State: abi.StateAnswered, HasOther: true, Other: "x"})
	}
	return abi.Event{Answer: a}
}

// hostile is what a harness can make as long as it likes: one list in one message.
type hostile struct {
	name, module string
	state        func(tb testing.TB) []byte
	event        func(n int) abi.Event
	// before is a step of the same size that comes before, and is not measured.
	before func(n int) abi.Event
}

func hostiles() []hostile {
	const at = `"threadId":"019f0000-aaaa-7000-8000-000000000001","turnId":"turn-1","itemId":"i"`
	running := func(tb testing.TB) []byte { return codexState(tb, "") }
	reading := func(method string) func(tb testing.TB) []byte {
		return func(tb testing.TB) []byte {
			return codexState(tb, `"type":"result","method":"`+method+`"`)
		}
	}
	questions := func(inner string) func(n int) abi.Event {
		return func(n int) abi.Event {
			return asked(codex.MethodItemToolRequestUserInput, `{`+at+`,"questions":[`+many(n, inner)+`]}`)
		}
	}
	options := func(inner string) func(n int) abi.Event {
		return func(n int) abi.Event {
			return asked(codex.MethodItemToolRequestUserInput, `{`+at+`,"questions":[{"id":"q","question":"Which?","options":[`+many(n, inner)+`]}]}`)
		}
	}
	all := []hostile{
		{name: "options with one label", event: options(`{"label":"same"}`)},
		{name: "options that are nothing", event: options(`0`)},
		{name: "questions that are nothing", event: questions(`{}`)},
		{name: "answers to many questions", before: questions(`{"id":"f%d"}`), event: func(n int) abi.Event { return answers("request/r1.9", n, "f%d") }},
		{name: "decisions of one name", event: func(n int) abi.Event {
			return asked(codex.MethodItemCommandExecutionRequestApproval, `{`+at+`,"availableDecisions":[`+many(n, `"accept"`)+`]}`)
		}},
		{name: "a command of many words", event: func(n int) abi.Event {
			return asked(codex.MethodExecCommandApproval, `{"conversationId":"c","callId":"i","command":[`+many(n, `"a"`)+`]}`)
		}},
		{name: "an async message with many questions", event: func(n int) abi.Event {
			return notified(codex.MethodItemCompleted, `{`+at+`,"item":{"type":"agentMessage","id":"m","text":"?","delivery":"async","questions":[`+many(n, `{}`)+`]}}`)
		}},
		{name: "a checklist", event: func(n int) abi.Event {
			return notified(codex.MethodTurnPlanUpdated, `{`+at+`,"plan":[`+many(n, `{}`)+`]}`)
		}},
		{name: "paths of one change", event: func(n int) abi.Event {
			return notified(codex.MethodItemStarted, `{`+at+`,"item":{"type":"fileChange","id":"m","changes":[`+many(n, `{"path":"a"}`)+`]}}`)
		}},
		{name: "models", state: reading(codex.MethodModelList), event: func(n int) abi.Event {
			return result(codex.MethodModelList, "open/models", `{"data":[`+many(n, `{"id":"m%d"}`)+`]}`)
		}},
		{name: "efforts", state: reading(codex.MethodModelList), event: func(n int) abi.Event {
			return result(codex.MethodModelList, "open/models", `{"data":[{"id":"m","supportedReasoningEfforts":[`+many(n, `{"reasoningEffort":"e"}`)+`]}]}`)
		}},
		{name: "modes", state: reading(codex.MethodCollaborationModeList), event: func(n int) abi.Event {
			return result(codex.MethodCollaborationModeList, "open/modes", `{"data":[`+many(n, `{"mode":"m%d","model":"m"}`)+`]}`)
		}},
	}
	for i := range all {
		all[i].name, all[i].module = "codex: "+all[i].name, codexModule
		if all[i].state == nil {
			all[i].state = running
		}
	}
	return append(all, acpHostiles()...)
}

func acpHostiles() []hostile {
	state := func(reducer func() guest.Reducer, steps ...func(*acptest.Rig)) func(tb testing.TB) []byte {
		return func(tb testing.TB) []byte { return acpRig(tb, reducer, steps...).Save() }
	}
	turn, session, opening := state(newClaude, acpTurn), state(newClaude, acpSession), state(newClaude)
	grokTurn, kimchiTurn := state(newGrok, acpTurn), state(newKimchi, acpTurn)
	update := func(kind, member, element string) func(n int) abi.Event {
		return func(n int) abi.Event {
			return notified("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"`+kind+`","toolCallId":"c","`+member+`":[`+many(n, element)+`]}}`)
		}
	}
	opened := func(members string) func(n int) abi.Event {
		return func(n int) abi.Event {
			head, tail, _ := strings.Cut(members, "…")
			element, tail, _ := strings.Cut(tail, "…")
			return result("session/new", "open/new", `{"sessionId":"s-1",`+head+many(n, element)+tail+`}`)
		}
	}
	question := func(r *acptest.Rig) {
		acpTurn(r)
		r.Notify("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"q","title":"Ask","_meta":{"claudeCode":{"toolName":"AskUserQuestion"}}}}`)
	}
	form := func(properties string) func(n int) abi.Event {
		return func(n int) abi.Event {
			return asked("elicitation/create", `{"sessionId":"s-1","toolCallId":"q","mode":"form","message":"?","requestedSchema":{"type":"object","properties":{`+many(n, properties)+`}}}`)
		}
	}
	grokQuestions := func(element string) func(n int) abi.Event {
		return func(n int) abi.Event {
			return asked("_x.ai/ask_user_question", `{"sessionId":"s-1","toolCallId":"c","questions":[`+many(n, element)+`]}`)
		}
	}
	return []hostile{
		{"acp: options of a permission", acpModule, turn, func(n int) abi.Event {
			return asked("session/request_permission", `{"sessionId":"s-1","toolCall":{"toolCallId":"c","kind":"switch_mode"},"options":[`+many(n, `{"optionId":"o%d","name":"x","kind":"allow_once"}`)+`]}`)
		}, nil},
		{"acp: members of a form", acpModule, state(newClaude, question), form(`"question_%d":{"type":"string","oneOf":[{"const":"a"}]},"question_0_custom":{}`), nil},
		{"acp: choices of a form", acpModule, state(newClaude, question), func(n int) abi.Event {
			return form(`"question_0":{"type":"string","enum":[` + many(n, `"a"`) + `]}`)(1)
		}, nil},
		{"acp: entries of a plan", acpModule, turn, update("plan", "entries", `{"content":"x"}`), nil},
		{"acp: commands", acpModule, session, update("available_commands_update", "availableCommands", `{"name":"x"}`), nil},
		{"acp: content of a tool call", acpModule, turn, update("tool_call", "content", `{}`), nil},
		{"acp: config options", acpModule, session, update("config_option_update", "configOptions", `{"id":"o%d","type":"select"}`), nil},
		{"acp: config options of one id", acpModule, session, update("config_option_update", "configOptions", `{"id":"o"}`), nil},
		{"acp: values", acpModule, opening, opened(`"configOptions":[{"id":"model","type":"select","currentValue":"v0","options":[…{"value":"v%d"}…]}]`), nil},
		{"acp: groups of values", acpModule, opening, opened(`"configOptions":[{"id":"model","type":"select","options":[…{"name":"g","options":["v%d"]}…]}]`), nil},
		{"acp: modes", acpModule, opening, opened(`"modes":{"currentModeId":"m","availableModes":[…{"id":"m%d"}…]}`), nil},
		{"acp: models", acpModule, opening, opened(`"models":{"currentModelId":"m","availableModels":[…{"modelId":"m%d"}…]}`), nil},
		{"acp: a submission with many options", acpModule, session, func(int) abi.Event {
			return abi.Event{Submit: &abi.Submit{Turn: "t1", ClientID: "c", Content: []abi.Content{{Type: abi.ContentText, Text: "x"}}}}
		}, func(n int) abi.Event {
			return update("config_option_update", "configOptions", `{"id":"o%d","type":"select","currentValue":"a"}`)(n)
		}},
		{"grok: questions of one text", grokModule, grokTurn, grokQuestions(`{"question":"q"}`), nil},
		{"grok: questions", grokModule, grokTurn, grokQuestions(`{"question":"q%d"}`), nil},
		{"grok: answers", grokModule, grokTurn, func(n int) abi.Event { return answers("request/r1.9", n, "%d") }, grokQuestions(`{"question":"q%d"}`)},
		{"kimchi: choices of a review", kimchiModule, kimchiTurn, func(n int) abi.Event {
			return form(`"value":{"type":"string","enum":["Execute","Rework",` + many(n, `"a"`) + `]}`)(1)
		}, nil},
	}
}

// run gives one event to a new instance in a state, after the one before it, and tells
// what it cost and whether it changed anything.
func (h *hostile) run(t *testing.T, mod *engine.Module, n int) (fuel int64, noticed bool) {
	t.Helper()
	i := instantiate(t, mod)
	defer func() {
		if err := i.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	state := h.state(t)
	if err := i.Load(context.Background(), state); err != nil {
		t.Fatal(err)
	}
	var out []byte
	step := func(ev abi.Event) {
		var err error
		ev.Now = 1_795_998_659_000
		if out, fuel, err = i.Step(context.Background(), abi.AppendEvent(nil, &ev)); err != nil {
			t.Fatalf("%d elements: %v", n, err)
		}
	}
	if h.before != nil {
		step(h.before(n))
	}
	step(h.event(n))
	noticed = string(out) != "[]"
	// What is remembered of it must be saved too.
	saved, err := i.Save(context.Background())
	if err != nil {
		t.Fatalf("%d elements: save: %v", n, err)
	}
	return fuel, noticed || len(saved) > len(state)+n
}

// A harness may send what it likes; it must not be able to end its session by spending
// the fuel of the binding. Work is measured in fuel, which is the same everywhere.
func TestNoListOfAHarnessCostsMoreThanItsLengthNorAllOfTheFuel(t *testing.T) {
	e := newEngine(t, sharedConfig())
	for _, h := range hostiles() {
		t.Run(h.name, func(t *testing.T) {
			mod := load(t, e, buildGo(t, h.module), abi.Limits{})
			const n = 4_000
			small, noticed := h.run(t, mod, n)
			if !noticed {
				t.Fatal("the binding took no notice of it")
			}
			large, _ := h.run(t, mod, 4*n)
			// Sorting and the collector make it a little more than four times.
			if large > 8*small+1_000_000 {
				t.Errorf("%d elements cost %d, four times as many %d, which is %.1f times as much", n, small, large, float64(large)/float64(small))
			}
			if testing.Short() {
				return
			}
			// Long beyond every bound: a fault fails the test.
			h.run(t, mod, 300_000)
		})
	}
}

// leftovers are long messages whose remains a later, short one goes through.
type leftovers struct {
	name, module string
	state        func(tb testing.TB) []byte
	// long is message number i of times; together they are long.
	long  func(i int) abi.Event
	times int
	short abi.Event
}

func allLeftovers() []leftovers {
	const big = 200 << 10
	const at = `"threadId":"019f0000-aaaa-7000-8000-000000000001","turnId":"turn-1","itemId":"i"`
	text := strings.Repeat("x", big)
	turn := func(reducer func() guest.Reducer) func(tb testing.TB) []byte {
		return func(tb testing.TB) []byte { return acpRig(tb, reducer, acpTurn).Save() }
	}
	numbered := func(i int, ev abi.Event) abi.Event {
		if ev.Message.Type == abi.MessageRequest {
			ev.Message.Token = fmt.Sprintf("r1.%d", i)
		}
		return ev
	}
	return []leftovers{
		{"forms that wait for one call", acpModule, turn(newClaude), func(i int) abi.Event {
			return numbered(i, asked("elicitation/create", `{"sessionId":"s-1","toolCallId":"q","mode":"form","message":"?","requestedSchema":{"type":"object","properties":{`+many(big/8, `"a":{}`)+`}}}`))
		}, 20, notified("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"q","title":"Ask"}}`)},
		{"reviews of one call", acpModule, turn(newClaude), func(i int) abi.Event {
			return numbered(i, asked("session/request_permission", `{"sessionId":"s-1","toolCall":{"toolCallId":"c","kind":"switch_mode","rawInput":{"plan":"first"},"_meta":{"claudeCode":{"toolName":"ExitPlanMode"}}},"options":[{"optionId":"exit-plan-default","name":"x","kind":"allow_once"},{"optionId":"exit-plan-auto","name":"x","kind":"allow_once"},{"optionId":"plan","name":"x","kind":"reject_once"}]}`))
		}, 300, notified("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","rawInput":{"plan":"`+text+`"}}}`)},
		{"calls that may ask one form after the other", kimchiModule, turn(newKimchi), func(i int) abi.Event {
			return notified("session/update", fmt.Sprintf(`{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"c%d","title":"questionnaire","rawInput":{"questions":[%s]}}}`, i, many(big/40, `{"id":"a","prompt":"p","type":"text"}`)))
		}, 40, asked("elicitation/create", `{"sessionId":"s-1","mode":"form","message":"?","requestedSchema":{"type":"object","properties":{"value":{"type":"string"}}}}`)},
		{"a long list of settings", acpModule, turn(newClaude), func(int) abi.Event {
			return notified("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"config_option_update","configOptions":[{"id":"mode","category":"mode","type":"select","currentValue":"default","options":[{"value":"default"}]},`+many(20, `{"id":"o%d","name":"`+text+`","type":"select"}`)+`]}}`)
		}, 1, notified("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"current_mode_update","currentModeId":"plan"}}`)},
		{"changes that an approval shows", codexModule, func(tb testing.TB) []byte { return codexState(tb, "") }, func(i int) abi.Event {
			return notified(codex.MethodItemStarted, fmt.Sprintf(`{%s,"item":{"type":"fileChange","id":"m%d","changes":[%s]}}`, at, i, many(big/16, `{"path":"a"}`)))
		}, 20, asked(codex.MethodItemFileChangeRequestApproval, strings.ReplaceAll(`{`+at+`}`, `"i"`, `"m19"`))},
	}
}

// A short message has little fuel, whatever came before it.
func TestWhatLongMessagesLeftBehindIsNotPaidForByAShortOne(t *testing.T) {
	e := newEngine(t, sharedConfig())
	for _, l := range allLeftovers() {
		t.Run(l.name, func(t *testing.T) {
			i := instantiate(t, load(t, e, buildGo(t, l.module), abi.Limits{}))
			if err := i.Load(context.Background(), l.state(t)); err != nil {
				t.Fatal(err)
			}
			step := func(ev abi.Event) (out []byte, fuel int64) {
				ev.Now = 1_795_998_659_000
				out, fuel, err := i.Step(context.Background(), abi.AppendEvent(nil, &ev))
				if err != nil {
					t.Fatal(err)
				}
				return out, fuel
			}
			for n := range l.times {
				step(l.long(n))
			}
			out, fuel := step(l.short)
			if string(out) == "[]" {
				t.Fatal("the binding took no notice of it")
			}
			if most := engine.DefaultLimits().FuelPerStep * 7 / 10; fuel > most {
				t.Errorf("the short message cost %d, want at most %d", fuel, most)
			}
			t.Logf("the short message cost %d", fuel)
			if _, err := i.Save(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Fifty requests with one id, each with twenty thousand options of one label, were more
// than a state had fuel for.
func TestAStateHasFuelForWhatItIsMadeOf(t *testing.T) {
	// A tenth of everything, to be quicker.
	mod := load(t, newEngine(t, sharedConfig()), buildGo(t, codexModule), abi.Limits{FuelPerStep: engine.DefaultLimits().FuelPerStep / 10})
	i := instantiate(t, mod)
	if err := i.Load(context.Background(), codexState(t, "")); err != nil {
		t.Fatal(err)
	}
	ask := asked(codex.MethodItemToolRequestUserInput, `{"questions":[{"id":"q","options":[`+many(5_000, `{"label":"same"}`)+`]}]}`)
	for n := range 25 {
		ask.Message.Token = fmt.Sprintf("r1.%d", n)
		if _, _, err := i.Step(context.Background(), abi.AppendEvent(nil, &ask)); err != nil {
			t.Fatal(err)
		}
	}
	var state []byte
	// The second time nothing came since; the state is as long as before.
	for range 2 {
		var err error
		if state, err = i.Save(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	next := instantiate(t, mod)
	if err := next.Load(context.Background(), state); err != nil {
		t.Fatal(err)
	}
	again, err := next.Save(context.Background())
	if err != nil || !bytes.Equal(again, state) {
		t.Fatalf("saved again: %d bytes, want %d: %v", len(again), len(state), err)
	}
}

// Ids of a megabyte, as many as a session remembers of each kind.
func TestAStateDoesNotGrowWithTheIdsOfAHarness(t *testing.T) {
	id := func(n int) string { return fmt.Sprintf("%s%d", strings.Repeat("i", 1<<20), n) }
	acpTurnState := func(tb testing.TB) []byte { return acpRig(tb, newClaude, acpTurn).Save() }
	for _, c := range []struct {
		name, module string
		state        func(tb testing.TB) []byte
		event        func(n int) abi.Event
	}{
		{"codex: turns, items and requests", codexModule, func(tb testing.TB) []byte { return codexState(tb, "") }, func(n int) abi.Event {
			const thread = `"threadId":"019f0000-aaaa-7000-8000-000000000001"`
			switch n % 5 {
			case 0:
				return notified(codex.MethodTurnStarted, `{`+thread+`,"turn":{"id":"`+id(n)+`","status":"inProgress"}}`)
			case 1:
				return notified(codex.MethodTurnCompleted, `{`+thread+`,"turn":{"id":"`+id(n-1)+`","status":"completed"}}`)
			case 2:
				return notified(codex.MethodItemCompleted, `{`+thread+`,"turnId":"turn-1","item":{"type":"agentMessage","id":"`+id(n)+`","text":"?","delivery":"async","questions":[{"title":"?"}]}}`)
			case 3:
				return notified(codex.MethodItemStarted, `{`+thread+`,"turnId":"turn-1","item":{"type":"fileChange","id":"`+id(n)+`","changes":[]}}`)
			}
			ev := asked(codex.MethodItemToolRequestUserInput, `{"threadId":"`+id(n)+`","turnId":"`+id(n+1)+`","itemId":"`+id(n+2)+`","questions":[]}`)
			ev.Message.Token, ev.Message.ID = fmt.Sprint("r1.", n), abi.Raw(`"`+id(n)+`"`)
			return ev
		}},
		{"acp: messages, calls, children and requests", acpModule, acpTurnState, func(n int) abi.Event {
			switch n % 3 {
			case 0:
				return notified("session/update", `{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","messageId":"`+id(n)+`","content":{"type":"text","text":"x"}}}`)
			case 1:
				return notified("session/update", `{"sessionId":"`+id(n)+`","update":{"sessionUpdate":"tool_call","toolCallId":"`+id(n)+`","title":"x"}}`)
			}
			ev := asked("session/request_permission", `{"sessionId":"`+id(n)+`","toolCall":{"toolCallId":"`+id(n)+`"},"options":[]}`)
			ev.Message.Token, ev.Message.ID = fmt.Sprint("r1.", n), abi.Raw(`"`+id(n)+`"`)
			return ev
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := instantiate(t, load(t, newEngine(t, sharedConfig()), buildGo(t, c.module), abi.Limits{}))
			if err := i.Load(context.Background(), c.state(t)); err != nil {
				t.Fatal(err)
			}
			for n := range 90 {
				ev := c.event(n)
				if _, _, err := i.Step(context.Background(), abi.AppendEvent(nil, &ev)); err != nil {
					t.Fatalf("event %d: %v", n, err)
				}
			}
			state, err := i.Save(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			// A few are told again to the agent and kept as they are.
			if len(state) > 6<<20 {
				t.Errorf("the state has %d bytes", len(state))
			}
		})
	}
}
