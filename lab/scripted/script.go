package scripted

import (
	"bytes"
	_ "embed" // for the demo script
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// The provider versions whose behaviour is known.
const (
	Version171 = "0.171.0"
	Version153 = "0.153.4"
)

// Script is what the agent does. The format is in the package documentation.
type Script struct {
	Version        string                `json:"version,omitempty"`
	Models         []Model               `json:"models,omitempty"`
	PageSize       int                   `json:"page_size,omitempty"`
	Defaults       Defaults              `json:"defaults,omitempty"`
	ConfigWarnings []string              `json:"config_warnings,omitempty"`
	Start          []Step                `json:"start,omitempty"`
	Methods        map[string][]Override `json:"methods,omitempty"`
	Turns          []Turn                `json:"turns,omitempty"`
}

// Model is an entry of the catalog.
type Model struct {
	ID            string   `json:"id"`
	Title         string   `json:"title,omitempty"`
	Efforts       []string `json:"efforts,omitempty"`
	DefaultEffort string   `json:"default_effort,omitempty"`
	Hidden        bool     `json:"hidden,omitempty"`
	Default       bool     `json:"default,omitempty"`
}

// Defaults is the user's own configuration.
type Defaults struct {
	Model             string `json:"model,omitempty"`
	Effort            string `json:"effort,omitempty"`
	ApprovalPolicy    string `json:"approval_policy,omitempty"`
	ApprovalsReviewer string `json:"approvals_reviewer,omitempty"`
	// Sandbox is "read-only", "workspace-write" or "danger-full-access".
	Sandbox string `json:"sandbox,omitempty"`
}

// Override takes the place of a method's ordinary answer.
type Override struct {
	Times   int `json:"times,omitempty"` // 0: always
	DelayMS int `json:"delay_ms,omitempty"`
	// WaitFile is a file that the answer waits for.
	WaitFile string          `json:"wait_file,omitempty"`
	Error    *RPCError       `json:"error,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Hang     bool            `json:"hang,omitempty"`
	Exit     *int            `json:"exit,omitempty"`
}

// RPCError is the error of a response.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Turn is what the agent does in one turn.
type Turn struct {
	Name              string    `json:"name,omitempty"`
	When              Condition `json:"when,omitempty"`
	Repeat            bool      `json:"repeat,omitempty"`
	Respond           string    `json:"respond,omitempty"`
	ExitBeforeMessage *int      `json:"exit_before_message,omitempty"`
	Steps             []Step    `json:"steps"`
	Steered           []Step    `json:"steered,omitempty"`
}

// The values of Turn.Respond.
const (
	respondAfterEnd = "after_end"
	respondNever    = "never"
)

// Condition agrees with a state when all its members do.
type Condition struct {
	Mode           string            `json:"mode,omitempty"`
	Model          string            `json:"model,omitempty"`
	Effort         string            `json:"effort,omitempty"`
	ApprovalPolicy string            `json:"approval_policy,omitempty"`
	Sandbox        string            `json:"sandbox,omitempty"`
	Text           string            `json:"text,omitempty"`
	Plan           *bool             `json:"plan,omitempty"`
	Resumed        *bool             `json:"resumed,omitempty"`
	Turn           int               `json:"turn,omitempty"`
	Answer         map[string]string `json:"answer,omitempty"`
	Decision       string            `json:"decision,omitempty"`
	Action         string            `json:"action,omitempty"`
}

//go:embed demo.json
var demo []byte

// Demo is the script of the product's demo: a plan turn that asks, then proposes; feedback
// that revises the proposal; an implementing turn that writes the file.
func Demo() Script {
	s, err := Parse(demo)
	if err != nil { // a test parses it
		panic(err)
	}
	return s
}

// Parse reads a script.
func Parse(data []byte) (Script, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var s Script
	if err := dec.Decode(&s); err != nil {
		return Script{}, fmt.Errorf("script: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Script{}, errors.New("script: text after the end of the script; remove it")
	}
	if err := s.validate(); err != nil {
		return Script{}, err
	}
	return s, nil
}

// Load reads a script file.
func Load(path string) (Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Script{}, fmt.Errorf("script: %w", err)
	}
	return Parse(data)
}

// find chooses the script as the package documentation says.
func find(flag string, env func(string) string) (Script, error) {
	if flag == "" {
		flag = env("AO_SCRIPTED_SCRIPT")
	}
	if flag != "" {
		return Load(flag)
	}
	if home := env("CODEX_HOME"); home != "" {
		s, err := Load(filepath.Join(home, "scripted.json"))
		if !errors.Is(err, os.ErrNotExist) {
			return s, err
		}
	}
	return Demo(), nil
}

func (s *Script) validate() error {
	if !slices.Contains([]string{"", Version171, Version153}, s.Version) {
		return fmt.Errorf("script: version %q is none of %s, %s", s.Version, Version171, Version153)
	}
	if err := validateSteps("start", s.Start, codexProtocol); err != nil {
		return err
	}
	for i := range s.Start {
		if !s.Start[i].anywhere() {
			return fmt.Errorf("script: start, step %d needs a turn; move it into one", i+1)
		}
	}
	for i := range s.Turns {
		t := &s.Turns[i]
		where := turnLabel(t.Name, i)
		if !slices.Contains([]string{"", respondAfterEnd, respondNever}, t.Respond) {
			return fmt.Errorf("script: %s: respond %q is none of after_end, never", where, t.Respond)
		}
		if err := errors.Join(validateSteps(where, t.Steps, codexProtocol), validateSteps(where+", steered", t.Steered, codexProtocol)); err != nil {
			return err
		}
	}
	return nil
}

func turnLabel(name string, i int) string {
	if name != "" {
		return fmt.Sprintf("turn %q", name)
	}
	return fmt.Sprintf("turn %d", i+1)
}

// models is the catalog: the script's, or one that covers what a picker has to handle.
func (s *Script) models() []Model {
	if len(s.Models) > 0 {
		return s.Models
	}
	return []Model{
		{ID: "scripted-1", Title: "Scripted 1", Efforts: []string{"low", "medium", "high"}, DefaultEffort: "medium", Default: true},
		{ID: "scripted-1-mini", Title: "Scripted 1 Mini", Efforts: []string{"low"}, DefaultEffort: "low"},
		{ID: "scripted-0", Title: "Scripted 0", Efforts: []string{"low", "medium"}, DefaultEffort: "low", Hidden: true},
	}
}

// defaults fills in what the script leaves to the harness, which is what Codex does
// without a configuration.
func (s *Script) defaults() Defaults {
	d := s.Defaults
	if d.Model == "" {
		d.Model = s.models()[0].ID
		for _, m := range s.models() {
			if m.Default {
				d.Model = m.ID
			}
		}
	}
	if d.ApprovalPolicy == "" {
		d.ApprovalPolicy = "on-request"
	}
	if d.ApprovalsReviewer == "" {
		d.ApprovalsReviewer = "user"
	}
	if d.Sandbox == "" {
		d.Sandbox = "read-only"
	}
	return d
}
