package scenario

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// Noted is what a file has that the agent made.
const Noted = "noted\n"

// NeedsReview: only for an agent that waits for the decision on its plan.
const NeedsReview = "review"

// Scenario is one scenario; the package documentation describes the file.
type Scenario struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Needs  string `json:"needs,omitempty"`
	Agent  []Turn `json:"agent"`
	Person []Step `json:"person"`
}

// Turn is what the agent does about a message.
type Turn struct {
	On string `json:"on"`
	Do []Act  `json:"do"`
}

// Act is one thing the agent does.
type Act struct {
	Ask  *Ask   `json:"ask,omitempty"`
	Plan *Plan  `json:"plan,omitempty"`
	Work string `json:"work,omitempty"`
	Say  string `json:"say,omitempty"`
	Gate string `json:"gate,omitempty"`
	Hang bool   `json:"hang,omitempty"`
}

// Ask is one question.
type Ask struct {
	Header  string   `json:"header"`
	Text    string   `json:"text"`
	Options []Option `json:"options"`
}

// Option is a choice of a question.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// Plan is a plan that is reviewed. What happens to it is part of the scenario, because
// a real harness's model is told by its own words only that the review has ended.
type Plan struct {
	Text     string `json:"text"`
	Changed  *Turn  `json:"changed,omitempty"`
	Approved []Act  `json:"approved,omitempty"`
}

// Step is one thing the person does or sees.
type Step struct {
	Configure      *Configure `json:"configure,omitempty"`
	Send           string     `json:"send,omitempty"`
	Steer          string     `json:"steer,omitempty"`
	Answer         *int64     `json:"answer,omitempty"`
	RequestChanges string     `json:"request_changes,omitempty"`
	Implement      bool       `json:"implement,omitempty"`
	Work           string     `json:"work,omitempty"`
	Ends           string     `json:"ends,omitempty"`
	Stop           bool       `json:"stop,omitempty"`
	Restart        bool       `json:"restart,omitempty"`
	Said           []string   `json:"said,omitempty"`
}

// Configure chooses a mode by its meaning, and a permission.
type Configure struct {
	Mode       string `json:"mode"`
	Permission string `json:"permission,omitempty"`
}

//go:embed files/*.json
var files embed.FS

// All are the scenarios in the order of their names. It panics on a file that cannot be
// read, which a test reads.
func All() []Scenario {
	entries, err := files.ReadDir("files")
	if err != nil {
		panic(err)
	}
	var out []Scenario
	for _, e := range entries {
		data, err := files.ReadFile("files/" + e.Name())
		if err != nil {
			panic(err)
		}
		s, err := Parse(data)
		if err == nil && s.Name+".json" != e.Name() {
			err = fmt.Errorf("the file of %q is %s", s.Name, e.Name())
		}
		if err != nil {
			panic(err)
		}
		out = append(out, s)
	}
	return out
}

// Named is the scenario of a name; it panics when there is none.
func Named(name string) Scenario {
	all := All()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		panic("no scenario is named " + name)
	}
	return all[i]
}

// Plans are the texts of the plans in the order in which a person reads them.
func (s *Scenario) Plans() []string {
	var out []string
	for i := range s.Agent {
		out = append(out, plans(s.Agent[i].Do)...)
	}
	return out
}

func plans(acts []Act) (out []string) {
	for _, a := range acts {
		if a.Plan == nil {
			continue
		}
		out = append(out, a.Plan.Text)
		if a.Plan.Changed != nil {
			out = append(out, plans(a.Plan.Changed.Do)...)
		}
	}
	return out
}

// Parse reads a scenario.
func Parse(data []byte) (Scenario, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var s Scenario
	if err := dec.Decode(&s); err != nil {
		return Scenario{}, fmt.Errorf("scenario: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Scenario{}, errors.New("scenario: text after its end; remove it")
	}
	if err := s.validate(); err != nil {
		return Scenario{}, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return s, nil
}

func (s *Scenario) validate() error {
	if s.Name == "" || s.About == "" || len(s.Agent) == 0 || len(s.Person) == 0 {
		return errors.New("it needs name, about, agent and person")
	}
	if s.Needs != "" && s.Needs != NeedsReview {
		return fmt.Errorf("it needs %q, and only %s can be needed", s.Needs, NeedsReview)
	}
	for i := range s.Agent {
		if err := s.Agent[i].validate(); err != nil {
			return err
		}
	}
	for i := range s.Person {
		if n := s.Person[i].verbs(); n != 1 {
			return fmt.Errorf("the person's step %d has %d of the members that say what it is; set one", i+1, n)
		}
		if c := s.Person[i].Configure; c != nil && c.Mode != "planning" && c.Mode != "execution" {
			return fmt.Errorf("the person's step %d chooses the mode %q, which is neither planning nor execution", i+1, c.Mode)
		}
	}
	return nil
}

func (t *Turn) validate() error {
	if t.On == "" {
		return errors.New("a turn of the agent is on no message")
	}
	return validateActs(t.On, t.Do)
}

func validateActs(on string, acts []Act) error {
	for i := range acts {
		a := &acts[i]
		if n := a.verbs(); n != 1 {
			return fmt.Errorf("on %q: act %d has %d of the members that say what it is; set one", on, i+1, n)
		}
		if a.Work != "" && !filepath.IsLocal(a.Work) {
			return fmt.Errorf("on %q: %q leaves the working directory", on, a.Work)
		}
		last := i == len(acts)-1
		if ends := a.Say != "" || a.Plan != nil || a.Hang; ends != last {
			return fmt.Errorf("on %q: act %d: a turn ends with say, plan or hang, and nothing follows one of them", on, i+1)
		}
		if p := a.Plan; p != nil {
			if (p.Changed != nil) == (p.Approved != nil) || p.Text == "" || strings.TrimSpace(p.Text) != p.Text {
				return fmt.Errorf("on %q: act %d: a plan has a text and either changed or approved", on, i+1)
			}
			err := validateActs(on+", approved", p.Approved)
			if p.Changed != nil {
				err = p.Changed.validate()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func count(set ...bool) (n int) {
	for _, b := range set {
		if b {
			n++
		}
	}
	return n
}

func (a *Act) verbs() int {
	return count(a.Ask != nil, a.Plan != nil, a.Work != "", a.Say != "", a.Gate != "", a.Hang)
}

func (s *Step) verbs() int {
	return count(s.Configure != nil, s.Send != "", s.Steer != "", s.Answer != nil, s.RequestChanges != "", s.Implement,
		s.Work != "", s.Ends != "", s.Stop, s.Restart, s.Said != nil)
}
