package scripted

import (
	"bytes"
	_ "embed" // for the demo script and the catalogs
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The profiles of a scripted ACP agent: two adapters of Claude, Grok, Kimchi, and agents
// that offer config options only, modes and models only, or both.
const (
	ProfileClaude101  = "claude-0.101"
	ProfileClaude049  = "claude-0.49"
	ProfileGrok       = "grok"
	ProfileGrokLegacy = "grok-legacy"
	ProfileKimchi     = "kimchi"
	ProfileModern     = "acp-modern"
	ProfileLegacy     = "acp-legacy"
	ProfileBoth       = "acp-both"
)

// Profiles are all of them.
var Profiles = []string{ProfileClaude101, ProfileClaude049, ProfileGrok, ProfileGrokLegacy, ProfileKimchi, ProfileModern, ProfileLegacy, ProfileBoth}

// ACPScript is what a scripted ACP agent does. The format is in the package documentation.
type ACPScript struct {
	Profile   string                `json:"profile,omitempty"`
	Options   []ACPOption           `json:"options,omitempty"` // instead of the profile's own
	Behaviour Behaviour             `json:"behaviour,omitempty"`
	Start     []Step                `json:"start,omitempty"`
	Methods   map[string][]Override `json:"methods,omitempty"`
	Turns     []ACPTurn             `json:"turns,omitempty"`
}

// ACPOption is a config option. Value, options and groups of it can depend on the model.
type ACPOption struct {
	ID          string          `json:"id"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Category    string          `json:"category,omitempty"`
	Type        string          `json:"type,omitempty"` // "select" when empty; "boolean", or one nobody knows
	Default     json.RawMessage `json:"default"`
	Values      []ACPValue      `json:"values,omitempty"`
	Models      []string        `json:"models,omitempty"` // offered with these models only
}

// ACPValue is a choice of a select option.
type ACPValue struct {
	Value       string          `json:"value"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Group       string          `json:"group,omitempty"` // choices of one group are sent under it
	Models      []string        `json:"models,omitempty"`
	Meta        json.RawMessage `json:"meta,omitempty"` // of the legacy model
}

// Behaviour is what an agent does outside its turns, and how it misbehaves there.
type Behaviour struct {
	// Setters says by option id, or "mode" and "model" for the legacy setters, or "*", how
	// settings are answered: "ignored" (with success, and nothing changes), "silent" (no
	// notification), "late" (the notification comes first, the response still has the old
	// catalog), "never" (no answer, nothing changes), "refused".
	Setters map[string]string `json:"setters,omitempty"`
	// EarlyUpdates are sent before the answer to session/new, session/load and session/resume.
	EarlyUpdates []json.RawMessage `json:"early_updates,omitempty"`
	// SecondPrompt is what happens to a prompt while one runs: "queue", "refuse" or "never" (not answered, not run).
	SecondPrompt string `json:"second_prompt,omitempty"`
	// OnCancel is how a cancelled prompt ends, instead of as cancelled.
	OnCancel *ACPEnd `json:"on_cancel,omitempty"`
	// Auth: "once" refuses a session with -32000 until authenticate was called, "always" refuses it for ever.
	Auth string `json:"auth,omitempty"`
	// MissingSession is the error for a session that is not there, instead of the profile's.
	MissingSession *RPCError `json:"missing_session,omitempty"`
	// LoadNull answers session/load with null, having loaded the session.
	LoadNull bool `json:"load_null,omitempty"`
	// ReplayOnResume makes session/resume replay like session/load.
	ReplayOnResume bool `json:"replay_on_resume,omitempty"`
	// Replay adds this many chunks to what session/load replays.
	Replay *Burst `json:"replay,omitempty"`
	// Keeps are the options a loaded session keeps; all others go back to their defaults.
	Keeps *[]string `json:"keeps,omitempty"`
	// ReraiseReview asks again, after a load, for the review that was open when the process ended.
	ReraiseReview bool `json:"reraise_review,omitempty"`
	// Reraised is what the agent does once that review is decided.
	Reraised []Step `json:"reraised,omitempty"`
	// Wrapped sends extension requests as a leader passes them on: "underscore" or "plain" names the method inside.
	Wrapped string `json:"wrapped,omitempty"`
	// Without are members of the agent's capabilities that are left out: "load", "resume", "list", "close".
	Without []string `json:"without,omitempty"`
	// ApproveAll never asks for a tool, as launch flags can have it.
	ApproveAll bool `json:"approve_all,omitempty"`
}

// ACPTurn is what the agent does with one prompt.
type ACPTurn struct {
	Name              string    `json:"name,omitempty"`
	When              Condition `json:"when,omitempty"`
	Repeat            bool      `json:"repeat,omitempty"`
	Respond           string    `json:"respond,omitempty"` // "never"
	ExitBeforeMessage *int      `json:"exit_before_message,omitempty"`
	Steps             []Step    `json:"steps"`
	After             []Step    `json:"after,omitempty"` // run after the prompt was answered
	OnCancel          *ACPEnd   `json:"on_cancel,omitempty"`
}

// ACPEnd is the end of a prompt: a stop reason, an error, or no answer at all.
type ACPEnd struct {
	StopReason string    `json:"stop_reason,omitempty"`
	Error      *RPCError `json:"error,omitempty"`
	Never      bool      `json:"never,omitempty"`
	DelayMS    int       `json:"delay_ms,omitempty"`
}

//go:embed acp_demo.json
var acpDemo []byte

//go:embed acp_catalogs.json
var acpCatalogs []byte

// ACPDemo is the script of the ACP agent that has no other: the job of Demo, for every profile.
func ACPDemo() ACPScript {
	s, err := ParseACP(acpDemo)
	if err != nil { // a test parses it
		panic(err)
	}
	return s
}

// ParseACP reads a script of an ACP agent.
func ParseACP(data []byte) (ACPScript, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var s ACPScript
	if err := dec.Decode(&s); err != nil {
		return ACPScript{}, fmt.Errorf("script: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return ACPScript{}, errors.New("script: text after the end of the script; remove it")
	}
	return s, s.validate()
}

// LoadACP reads a script file of an ACP agent.
func LoadACP(path string) (ACPScript, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return ACPScript{}, fmt.Errorf("script: %w", err)
	}
	return ParseACP(data)
}

func (s *ACPScript) validate() error {
	if !slices.Contains(append([]string{""}, Profiles...), s.Profile) {
		return fmt.Errorf("script: profile %q is none of %s", s.Profile, strings.Join(Profiles, ", "))
	}
	if err := s.Behaviour.validate(); err != nil {
		return fmt.Errorf("script: behaviour: %w", err)
	}
	if err := validateSteps("start", s.Start, acpProtocol); err != nil {
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
		if !slices.Contains([]string{"", respondNever}, t.Respond) {
			return fmt.Errorf("script: %s: respond %q is not never", where, t.Respond)
		}
		if err := t.OnCancel.validate(); err != nil {
			return fmt.Errorf("script: %s: on_cancel: %w", where, err)
		}
		if err := errors.Join(validateSteps(where, t.Steps, acpProtocol), validateSteps(where+", after", t.After, acpProtocol)); err != nil {
			return err
		}
	}
	return nil
}

func (b *Behaviour) validate() error {
	for id, how := range b.Setters {
		if !slices.Contains([]string{setIgnored, setSilent, setLate, setNever, setRefused}, how) {
			return fmt.Errorf("setters.%s: %q is none of ignored, silent, late, never, refused", id, how)
		}
	}
	for name, c := range map[string]struct {
		value string
		known []string
	}{
		"second_prompt": {b.SecondPrompt, []string{"", promptQueue, promptRefuse, promptNever}},
		"auth":          {b.Auth, []string{"", authOnce, authAlways}},
		"wrapped":       {b.Wrapped, []string{"", wrapUnderscore, wrapPlain}},
	} {
		if !slices.Contains(c.known, c.value) {
			return fmt.Errorf("%s: %q is none of %s", name, c.value, strings.Join(c.known[1:], ", "))
		}
	}
	return errors.Join(b.OnCancel.validate(), validateSteps("reraised", b.Reraised, acpProtocol))
}

func (e *ACPEnd) validate() error {
	if e == nil {
		return nil
	}
	n := 0
	for _, set := range []bool{e.StopReason != "", e.Error != nil, e.Never} {
		if set {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("%d of stop_reason, error and never are set; set one", n)
	}
	return nil
}

// The values of Behaviour.
const (
	setIgnored = "ignored"
	setSilent  = "silent"
	setLate    = "late"
	setNever   = "never"
	setRefused = "refused"

	promptQueue  = "queue"
	promptRefuse = "refuse"
	promptNever  = "never"

	authOnce   = "once"
	authAlways = "always"

	wrapUnderscore = "underscore"
	wrapPlain      = "plain"
)

// findACP chooses the script as the package documentation says.
func findACP(flag, home string, env func(string) string) (ACPScript, error) {
	if flag == "" {
		flag = env("AO_SCRIPTED_SCRIPT")
	}
	if flag != "" {
		return LoadACP(flag)
	}
	if home != "" {
		s, err := LoadACP(filepath.Join(home, "scripted.json"))
		if !errors.Is(err, os.ErrNotExist) {
			return s, err
		}
	}
	return ACPDemo(), nil
}
