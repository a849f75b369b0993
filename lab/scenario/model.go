package scenario

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aoagents/ao-host/lab/model"
)

// Model is the script of the model behind a real harness ("codex", "claude", "grok").
// It panics on another one.
func (s *Scenario) Model(harness string, stage Stage) model.Script {
	tools, known := map[string]modelTools{"codex": codexTools{}, "claude": claudeTools{}, "grok": grokTools{}}[harness]
	if !known {
		panic("there is no model for the harness " + harness)
	}
	w := &modelWriter{stage: stage, tools: tools}
	for i := range s.Agent {
		w.turn(&s.Agent[i])
	}
	// A message that follows a stopped tool call comes together with that call's result,
	// and is what counts. Each is answered once, so what continues it is found after it.
	slices.SortStableFunc(w.steps, func(a, b model.Step) int { return order(&a) - order(&b) })
	return model.Script{Steps: w.steps}
}

func order(s *model.Step) int {
	switch {
	case s.Repeat:
		return 2
	case s.Match.Result != "":
		return 1
	}
	return 0
}

// modelTools is how the model of a harness calls what it offers.
type modelTools interface {
	ask(id string, a *Ask) model.Action
	edit(id, cwd, file string) model.Action
	run(id, command string) model.Action
	hang() model.Action
	// plan proposes a plan; previous is the text of the one before, "" for the first.
	plan(w *modelWriter, p *Plan, previous string)
}

// modelWriter writes the model's steps one after the other. match is what the next
// request will be recognised by.
type modelWriter struct {
	stage Stage
	tools modelTools
	steps []model.Step
	match model.Match
	gates []model.Action
	calls int
}

func (w *modelWriter) turn(t *Turn) {
	w.match = model.Match{LastUser: t.On}
	w.acts(t.Do, "")
}

func (w *modelWriter) acts(acts []Act, previous string) {
	for i := range acts {
		a := &acts[i]
		switch {
		case a.Ask != nil:
			w.call(func(id string) model.Action { return w.tools.ask(id, a.Ask) })
		case a.Plan != nil:
			w.plan(a.Plan, previous)
		case a.Work != "" && w.stage.Edits:
			w.call(func(id string) model.Action { return w.tools.edit(id, w.stage.Cwd, a.Work) })
		case a.Work != "":
			w.call(func(id string) model.Action { return w.tools.run(id, shell(a.Work)) })
		case a.Say != "":
			w.reply(model.Text(a.Say))
		case a.Gate != "":
			w.gates = append(w.gates, model.Wait(a.Gate))
		case a.Hang:
			w.reply(model.Text("Working."), w.tools.hang())
		}
	}
}

func (w *modelWriter) plan(p *Plan, previous string) { w.tools.plan(w, p, previous) }

// reply answers the next request.
func (w *modelWriter) reply(actions ...model.Action) {
	w.steps = append(w.steps, model.Step{Match: w.match, Reply: append(w.gates, actions...)})
	w.gates = nil
}

// call answers the next request with a tool call, whose result is the request after it.
func (w *modelWriter) call(action func(id string) model.Action) string {
	w.calls++
	id := fmt.Sprintf("call_s%d", w.calls)
	w.reply(action(id))
	w.match = model.Match{Result: id}
	return id
}

// then writes what follows a plan whose review was a tool call.
func (w *modelWriter) then(p *Plan) {
	if p.Changed != nil {
		w.match = model.Match{LastUser: p.Changed.On}
		w.acts(p.Changed.Do, p.Text)
		return
	}
	w.acts(p.Approved, p.Text)
}

// arguments are a call's arguments as JSON.
func arguments(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // texts and lists always encode
		panic(err)
	}
	return string(b)
}

// GateSteered is the gate that opens when a message was steered into the running turn.
const GateSteered = "steered"

type args map[string]any

type claudeTools struct{}

func (claudeTools) ask(id string, a *Ask) model.Action {
	return model.Call(id, "AskUserQuestion", arguments(args{"questions": []args{{"question": a.Text, "header": a.Header, "multiSelect": false, "options": a.Options}}}))
}

// edit makes a file. Claude wants an absolute path.
func (claudeTools) edit(id, cwd, file string) model.Action {
	return model.Call(id, "Write", arguments(args{"file_path": filepath.Join(cwd, file), "content": Noted}))
}

func (claudeTools) run(id, command string) model.Action {
	return model.Call(id, "Bash", arguments(args{"command": command, "description": "write"}))
}

func (claudeTools) hang() model.Action { return model.Action{Hang: true} }

func (claudeTools) plan(w *modelWriter, p *Plan, _ string) {
	id := w.call(func(id string) model.Action {
		return model.Call(id, "ExitPlanMode", arguments(args{"plan": p.Text}))
	})
	if p.Changed != nil {
		// After a rejection the older adapter asks the model on, until the cancel arrives.
		w.steps = append(w.steps, model.Step{Match: model.Match{Result: id}, Repeat: true, Reply: []model.Action{model.Text("What then?")}})
	}
	w.then(p)
}

type grokTools struct{}

func (grokTools) ask(id string, a *Ask) model.Action {
	return model.Call(id, "ask_user_question", arguments(args{"questions": []args{{"question": a.Text, "multi_select": false, "options": a.Options}}}))
}

func (grokTools) edit(id, cwd, file string) model.Action {
	return model.Call(id, "search_replace", arguments(args{"file_path": filepath.Join(cwd, file), "old_string": "", "new_string": Noted}))
}

func (grokTools) run(id, command string) model.Action {
	return model.Call(id, "run_terminal_command", arguments(args{"command": command, "description": "write"}))
}

// plan writes the plan into the file whose place only Grok knows, and leaves planning.
// Requested changes go on in the same turn.
func (grokTools) hang() model.Action { return model.Action{Hang: true} }

func (grokTools) plan(w *modelWriter, p *Plan, previous string) {
	w.call(func(id string) model.Action {
		return model.Call(id, "search_replace", arguments(args{"file_path": "{{captured}}", "old_string": previous, "new_string": p.Text}))
	})
	w.steps[len(w.steps)-1].Capture = `(/[^" ]+/plan\.md)`
	w.call(func(id string) model.Action { return model.Call(id, "exit_plan_mode", "{}") })
	acts := p.Approved
	if p.Changed != nil {
		acts = p.Changed.Do
	}
	w.acts(acts, p.Text)
}

type codexTools struct{}

func (codexTools) ask(id string, a *Ask) model.Action {
	return model.Call(id, "request_user_input", arguments(args{"questions": []args{{"id": "answer", "header": a.Header, "question": a.Text, "options": a.Options}}}))
}

func (codexTools) edit(id, _, file string) model.Action {
	return model.Action{Custom: &model.CustomCall{ID: id, Name: "apply_patch",
		Input: "*** Begin Patch\n*** Add File: " + file + "\n+" + strings.TrimSuffix(Noted, "\n") + "\n*** End Patch\n"}}
}

// run gives the command time: Codex goes on without it after 10 s by default.
func (codexTools) run(id, command string) model.Action {
	return model.Call(id, "exec_command", arguments(args{"cmd": command, "yield_time_ms": 30000}))
}

// hang lets go when it is told: a steering message reaches the model with its next request.
func (codexTools) hang() model.Action { return model.Wait(GateSteered) }

// plan ends the turn; the next message goes on.
func (codexTools) plan(w *modelWriter, p *Plan, _ string) {
	w.reply(model.Text("<proposed_plan>\n" + p.Text + "\n</proposed_plan>\n"))
	if p.Changed == nil {
		w.match = model.Match{LastUser: Implement}
	}
	w.then(p)
}
