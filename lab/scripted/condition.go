package scripted

import "strings"

// state is what a condition is held against.
type state struct {
	values          map[string]string
	policy, sandbox string
	text            string // what the user said
	plan, resumed   bool
	turn            int
}

// agrees says whether a condition holds.
func (c *Condition) agrees(s state) bool {
	for id, want := range c.Answer {
		if s.values["answer."+id] != want {
			return false
		}
	}
	equal := func(want, is string) bool { return want == "" || want == is }
	return equal(c.Mode, s.values["mode"]) && equal(c.Model, s.values["model"]) && equal(c.Effort, s.values["effort"]) &&
		equal(c.ApprovalPolicy, s.policy) && equal(c.Sandbox, s.sandbox) &&
		equal(c.Decision, s.values["decision"]) && equal(c.Action, s.values["action"]) && strings.Contains(s.text, c.Text) &&
		(c.Plan == nil || *c.Plan == s.plan) && (c.Resumed == nil || *c.Resumed == s.resumed) && (c.Turn == 0 || c.Turn == s.turn)
}

// expand fills in {{name}}; what is unknown becomes nothing.
func expand(text string, values func() map[string]string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	v := values()
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, closed := strings.Cut(rest, "}}")
		if !closed {
			b.WriteString("{{" + rest)
			return b.String()
		}
		b.WriteString(v[strings.TrimSpace(name)])
		text = after
	}
}
