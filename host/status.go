package host

import (
	"slices"
	"strings"

	"github.com/aoagents/ao-host/abi"
)

// Bounds of what a binding can have shown beside the composer.
const (
	maxProblems = 100
	maxMetrics  = 100
)

// setProblem shows a problem, in place of one with the same code and field, or
// takes it back.
func (c *conversation) setProblem(p abi.Problem) {
	i := slices.IndexFunc(c.problems, func(o abi.Problem) bool { return o.Code == p.Code && o.Field == p.Field })
	switch {
	case p.Resolved && i < 0:
		return
	case p.Resolved:
		c.problems = slices.Delete(c.problems, i, i+1)
	case i >= 0 && c.problems[i] == p:
		return
	case i >= 0:
		c.problems[i] = p
	case len(c.problems) >= maxProblems:
		return
	default:
		c.problems = append(c.problems, p)
	}
	c.journalValue(EventProblem, "", p)
	c.dirty = true
}

// onProblem shows a problem of the binding. One that only a sign-in can mend parks
// what waits: the queue is held with the command that signs in, and once it is
// resumed a fresh process sends the message, once (L6). A session that does not come
// about without the sign-in ends at once; another may be what a person signs in with,
// so it goes on until the next message.
func (c *conversation) onProblem(p abi.Problem) {
	s := c.sess
	same := func(o abi.Problem) bool { return o.Code == p.Code && o.Field == p.Field }
	told := slices.ContainsFunc(s.signIns, same)
	if p.Resolved && told {
		if s.signIns = slices.DeleteFunc(s.signIns, same); len(s.signIns) == 0 {
			c.dropProblem(CodeSignInNeeded)
		}
		return
	}
	if p.Needs != abi.NeedsSignIn || p.Resolved {
		c.setProblem(p)
		return
	}
	if !told && len(s.signIns) < maxProblems {
		s.signIns = append(s.signIns, p)
	}
	e := &Error{Code: CodeSignInNeeded, Detail: sentence(p.Message)}
	if cmd := s.binding.info.Manifest.Launch.SignIn; len(cmd) > 0 {
		e.Detail = strings.TrimSpace(e.Detail + " The command is: " + strings.Join(cmd, " ") + ".")
	}
	c.setProblem(abi.Problem{Code: string(CodeSignInNeeded), Field: "session", Message: e.Error(), Needs: abi.NeedsSignIn})
	c.hold(CodeSignInNeeded)
	if s.state == SessionStarting {
		c.answerProbes(e)
		s.endAfter = string(CodeSignInNeeded)
	}
	c.tx.urgent = true
}

// dropProblem takes back the problems with a code.
func (c *conversation) dropProblem(code Code) {
	for _, p := range slices.Clone(c.problems) {
		if p.Code == string(code) {
			p.Resolved = true
			c.setProblem(p)
		}
	}
}

// dropProblems takes back the problems of a field.
func (c *conversation) dropProblems(field string) {
	for _, p := range slices.Clone(c.problems) {
		if p.Field == field {
			p.Resolved = true
			c.setProblem(p)
		}
	}
}

func (c *conversation) journalSession() {
	c.journalValue(EventSession, "", c.sessionView())
	c.dirty = true
}

// onUsage keeps the newest values; gauges replace, counters are totals.
func (c *conversation) onUsage(u *abi.Usage) {
	c.usage.Gauges = mergeMetrics(c.usage.Gauges, u.Gauges)
	c.usage.Counters = mergeMetrics(c.usage.Counters, u.Counters)
	c.journal(EventUsage, u.Turn, u.AppendJSON(nil))
	c.dirty = true
}

func mergeMetrics(old, add []abi.Metric) []abi.Metric {
	for _, m := range add {
		if i := slices.IndexFunc(old, func(o abi.Metric) bool { return o.Name == m.Name }); i >= 0 {
			old[i] = m
		} else if len(old) < maxMetrics {
			old = append(old, m)
		}
	}
	return old
}

func (c *conversation) onSessionInfo(e *abi.SessionInfo) {
	c.journal(EventSessionInfo, "", e.AppendJSON(nil))
	if e.Title != "" && c.row.Title == "" {
		c.row.Title = e.Title
		c.saveRow()
	}
}
