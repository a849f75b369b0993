package scenario

import (
	"path/filepath"

	"github.com/aoagents/ao-host/lab/scripted"
)

// Stage is where a scenario is played, as far as the agent's side has to know.
type Stage struct {
	// Cwd is the folder the agent works in.
	Cwd string
	// Gates is the folder in which a file opens the gate of its name, on scripted agents.
	Gates string
	// Edits: the work is an edit of a file; otherwise it is a command.
	Edits bool
}

// Implement is what the Codex binding sends to go on with a plan.
const Implement = "Implement the plan."

// ACP is the script of an ACP agent. inReview says that its review takes feedback, so
// that it goes on planning in the same turn.
func (s *Scenario) ACP(profile string, inReview bool, stage Stage) scripted.ACPScript {
	p := &player{stage: stage, acp: true, inReview: inReview}
	p.play(s.Agent)
	out := scripted.ACPScript{Profile: profile}
	for _, t := range p.turns {
		out.Turns = append(out.Turns, scripted.ACPTurn{When: scripted.Condition{Text: t.on}, Repeat: true, Steps: t.steps})
	}
	return out
}

// Codex is the script of the app-server of a version.
func (s *Scenario) Codex(version string, stage Stage) scripted.Script {
	p := &player{stage: stage}
	p.play(s.Agent)
	out := scripted.Script{Version: version}
	for _, t := range p.turns {
		steps := t.steps
		if n := len(steps); n > 0 && steps[n-1].WaitSteer {
			// A steering message joins the running turn, and is then answered like any other.
			for _, other := range p.turns {
				if other.on != t.on {
					steps = append(steps, scripted.Step{If: &scripted.Condition{Text: other.on}, Then: other.steps})
				}
			}
		}
		out.Turns = append(out.Turns, scripted.Turn{When: scripted.Condition{Text: t.on}, Repeat: true, Steps: steps})
	}
	return out
}

// player writes the turns of a scripted agent.
type player struct {
	stage         Stage
	acp, inReview bool
	turns         []playedTurn
}

type playedTurn struct {
	on    string
	steps []scripted.Step
}

func (p *player) play(turns []Turn) {
	for i := range turns {
		p.turn(turns[i].On, turns[i].Do)
	}
}

func (p *player) turn(on string, acts []Act) {
	steps := p.steps(acts)
	p.turns = append(p.turns, playedTurn{on, steps})
}

func (p *player) steps(acts []Act) []scripted.Step {
	var out []scripted.Step
	for i := range acts {
		a := &acts[i]
		switch {
		case a.Ask != nil:
			q := scripted.Question{ID: "answer", Header: a.Ask.Header, Question: a.Ask.Text}
			for _, o := range a.Ask.Options {
				q.Options = append(q.Options, scripted.Option{Label: o.Label, Description: o.Description})
			}
			out = append(out, scripted.Step{Ask: &scripted.Ask{Questions: []scripted.Question{q}}})
		case a.Plan != nil:
			out = append(out, p.plan(a.Plan)...)
		case a.Work != "" && p.stage.Edits:
			out = append(out, scripted.Step{WriteFile: &scripted.WriteFile{Path: a.Work, Text: Noted}})
		case a.Work != "":
			out = append(out, scripted.Step{Run: &scripted.Run{Command: shell(a.Work), Shell: true}})
		case a.Say != "":
			out = append(out, scripted.Step{Say: &a.Say})
		case a.Gate != "":
			out = append(out, scripted.Step{WaitFile: filepath.Join(p.stage.Gates, a.Gate)})
		case a.Hang:
			begun := "Working."
			out = append(out, scripted.Step{Say: &begun}, scripted.Step{WaitInterrupt: p.acp, WaitSteer: !p.acp})
		}
	}
	return out
}

// plan proposes a plan. A Codex goes on with the next message; an ACP agent waits for
// the decision, and goes on with a message only where its review was cancelled or lost.
func (p *player) plan(plan *Plan) []scripted.Step {
	out := []scripted.Step{{Plan: &plan.Text}}
	switch {
	case plan.Changed != nil:
		p.turn(plan.Changed.On, plan.Changed.Do)
	case !p.acp:
		p.turn(Implement, plan.Approved)
	}
	if !p.acp {
		return out
	}
	kept := "I keep planning."
	rejected := []scripted.Step{{Say: &kept}}
	if p.inReview && plan.Changed != nil {
		rejected = p.steps(plan.Changed.Do)
	}
	return append(out, scripted.Step{If: &scripted.Condition{Decision: "approved"}, Then: p.steps(plan.Approved), Else: rejected})
}

// shell is the command that makes a file.
func shell(file string) string { return "echo noted > " + file }
