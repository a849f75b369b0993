package scripted

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
)

// Step is one thing the agent does; the package documentation lists them.
type Step struct {
	Say    *string `json:"say,omitempty"`
	Reason *string `json:"reason,omitempty"`
	Plan   *string `json:"plan,omitempty"`
	Intro  string  `json:"intro,omitempty"`
	Chunks int     `json:"chunks,omitempty"`

	Ask         *Ask         `json:"ask,omitempty"`
	AskAsync    *AskAsync    `json:"ask_async,omitempty"`
	Run         *Run         `json:"run,omitempty"`
	WriteFile   *WriteFile   `json:"write_file,omitempty"`
	Permissions *Permissions `json:"permissions,omitempty"`
	Form        *Elicitation `json:"form,omitempty"`
	URL         *Elicitation `json:"url,omitempty"`

	Checklist   []Check `json:"checklist,omitempty"`
	Explanation string  `json:"explanation,omitempty"`
	Usage       *Usage  `json:"usage,omitempty"`
	Child       *Child  `json:"child,omitempty"`
	SelfTurn    []Step  `json:"self_turn,omitempty"`

	Name     *string         `json:"name,omitempty"`
	Warn     *string         `json:"warn,omitempty"`
	Settings *Change         `json:"settings,omitempty"`
	Notify   *Message        `json:"notify,omitempty"`
	Request  *Message        `json:"request,omitempty"`
	Item     json.RawMessage `json:"item,omitempty"`

	DelayMS       int      `json:"delay_ms,omitempty"`
	WaitFile      string   `json:"wait_file,omitempty"` // an absolute path
	WaitInterrupt bool     `json:"wait_interrupt,omitempty"`
	WaitSteer     bool     `json:"wait_steer,omitempty"`
	Fail          *Failure `json:"fail,omitempty"`

	If   *Condition `json:"if,omitempty"`
	Then []Step     `json:"then,omitempty"`
	Else []Step     `json:"else,omitempty"`

	// Of ACP agents only.
	Update json.RawMessage `json:"update,omitempty"` // a session update as it stands
	End    *ACPEnd         `json:"end,omitempty"`

	Raw           *string `json:"raw,omitempty"`
	RawBase64     string  `json:"raw_base64,omitempty"`
	Huge          *Huge   `json:"huge,omitempty"`
	Burst         *Burst  `json:"burst,omitempty"`
	Stderr        *string `json:"stderr,omitempty"`
	Exit          *int    `json:"exit,omitempty"`
	CloseStdout   bool    `json:"close_stdout,omitempty"`
	IgnoreSIGTERM bool    `json:"ignore_sigterm,omitempty"`
	IgnoreEOF     bool    `json:"ignore_eof,omitempty"`
	Hang          bool    `json:"hang,omitempty"`
}

// Ask is a question that waits for its answer.
type Ask struct {
	ID             string     `json:"id,omitempty"`
	Questions      []Question `json:"questions"`
	Blocking       *bool      `json:"blocking,omitempty"`
	ResolveAfterMS int        `json:"resolve_after_ms,omitempty"` // the agent goes on by itself
}

// Question is one question of a card.
type Question struct {
	ID       string   `json:"id"`
	Header   string   `json:"header,omitempty"`
	Question string   `json:"question"`
	Options  []Option `json:"options,omitempty"`
	Other    bool     `json:"other,omitempty"`
	Secret   bool     `json:"secret,omitempty"`
	Multi    bool     `json:"multi,omitempty"` // ACP agents only: any number of options
}

// Option is a choice on offer.
type Option struct {
	ID          string `json:"id,omitempty"` // ACP agents only, where the agent shows one
	Label       string `json:"label"`
	Description string `json:"description"`
}

// AskAsync is a question that is answered by a later message.
type AskAsync struct {
	ID        string          `json:"id,omitempty"`
	Questions []AsyncQuestion `json:"questions"`
}

// AsyncQuestion has no id; Options may be nil.
type AsyncQuestion struct {
	Title   string   `json:"title"`
	Options []string `json:"options"`
}

// Run is a command.
type Run struct {
	ID         string `json:"id,omitempty"`
	Command    string `json:"command"`
	Reason     string `json:"reason,omitempty"`
	Approve    *bool  `json:"approve,omitempty"`
	Output     string `json:"output,omitempty"`
	ExitCode   int    `json:"exit_code,omitempty"`
	Shell      bool   `json:"shell,omitempty"`    // really run it with sh; Output and ExitCode are then its own
	TakesMS    int    `json:"takes_ms,omitempty"` // how long it runs when it does not really
	LateMS     int    `json:"late_ms,omitempty"`  // it outlives an interrupted turn by so much, and then tells its end
	DenyReview string `json:"deny_review,omitempty"`
}

// WriteFile is a patch of one file.
type WriteFile struct {
	ID         string `json:"id,omitempty"`
	Path       string `json:"path"`
	Text       string `json:"text"`
	Reason     string `json:"reason,omitempty"`
	Approve    *bool  `json:"approve,omitempty"`
	DenyReview string `json:"deny_review,omitempty"`
}

// Permissions asks for wider access.
type Permissions struct {
	ID          string          `json:"id,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	Permissions json.RawMessage `json:"permissions"`
}

// Elicitation is a form or a URL consent of a tool server.
type Elicitation struct {
	Server  string          `json:"server,omitempty"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	URL     string          `json:"url,omitempty"`
	// Elsewhere tells that a URL consent was given before anybody answered it.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// Check is a line of the checklist: pending, inProgress or completed.
type Check struct {
	Step   string `json:"step"`
	Status string `json:"status"`
}

// Usage adds to the thread's token counts.
type Usage struct {
	Input     int `json:"input"`
	Cached    int `json:"cached,omitempty"`
	Output    int `json:"output"`
	Reasoning int `json:"reasoning,omitempty"`
	Window    int `json:"window,omitempty"`
}

// Child is a turn of a child thread. The parent waits for it unless Background is set.
// Early makes the child's own messages come before the parent has told about it.
type Child struct {
	Prompt     string `json:"prompt"`
	Steps      []Step `json:"steps"`
	Background bool   `json:"background,omitempty"`
	Early      bool   `json:"early,omitempty"`
}

// Change is a change of the sticky settings that the agent makes by itself.
type Change struct {
	Mode              string `json:"mode,omitempty"`
	Model             string `json:"model,omitempty"`
	Effort            string `json:"effort,omitempty"`
	ApprovalPolicy    string `json:"approval_policy,omitempty"`
	ApprovalsReviewer string `json:"approvals_reviewer,omitempty"`
	Sandbox           string `json:"sandbox,omitempty"`
}

// Message is any notification or request.
type Message struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// Failure ends a turn. Code is a member of codexErrorInfo, such as "usageLimitExceeded",
// "internalServerError", "unauthorized" or "responseTooManyFailedAttempts"; HTTP is put
// into those that carry a status. Retries are announced before.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	HTTP    int    `json:"http,omitempty"`
	Retries int    `json:"retries,omitempty"`
}

// Huge is one very long line.
type Huge struct {
	Bytes int    `json:"bytes"`
	Kind  string `json:"kind"`
}

// Burst is many deltas of one message, each with this text; Bytes instead makes one of that
// length, with Prose each time another one.
type Burst struct {
	Count int    `json:"count"`
	Text  string `json:"text,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
	Prose bool   `json:"prose,omitempty"`
}

// verbs counts the members that say what the step does.
func (s *Step) verbs() int {
	n := 0
	for _, set := range []bool{
		s.Say != nil, s.Reason != nil, s.Plan != nil, s.Ask != nil, s.AskAsync != nil, s.Run != nil, s.WriteFile != nil,
		s.Permissions != nil, s.Form != nil, s.URL != nil, s.Checklist != nil, s.Usage != nil, s.Child != nil, s.SelfTurn != nil,
		s.Name != nil, s.Warn != nil, s.Settings != nil, s.Notify != nil, s.Request != nil, s.Item != nil,
		s.DelayMS > 0, s.WaitFile != "", s.WaitInterrupt, s.WaitSteer, s.Fail != nil, s.If != nil, s.Raw != nil, s.RawBase64 != "", s.Huge != nil,
		s.Update != nil, s.End != nil, s.Burst != nil, s.Stderr != nil, s.Exit != nil, s.CloseStdout, s.IgnoreSIGTERM, s.IgnoreEOF, s.Hang,
	} {
		if set {
			n++
		}
	}
	return n
}

// anywhere says whether a step makes sense outside a turn.
func (s *Step) anywhere() bool {
	return s.DelayMS > 0 || s.WaitFile != "" || s.Raw != nil || s.RawBase64 != "" || s.Stderr != nil || s.Exit != nil || s.CloseStdout ||
		s.IgnoreSIGTERM || s.IgnoreEOF || s.Hang
}

// protocol is one of the two that scripts are written for.
type protocol int

const (
	codexProtocol protocol = iota
	acpProtocol
)

// foreign names the member of a step that the protocol has nothing for.
func (s *Step) foreign(p protocol) string {
	members := map[string]bool{"update": s.Update != nil, "end": s.End != nil, "elsewhere": s.URL != nil && s.URL.Elsewhere}
	if p == acpProtocol {
		members = map[string]bool{"ask_async": s.AskAsync != nil, "permissions": s.Permissions != nil, "warn": s.Warn != nil,
			"item": s.Item != nil, "wait_steer": s.WaitSteer}
	}
	for name, set := range members {
		if set {
			return name
		}
	}
	return ""
}

func validateSteps(where string, steps []Step, p protocol) error {
	for i := range steps {
		s := &steps[i]
		at := fmt.Sprintf("script: %s, step %d", where, i+1)
		if n := s.verbs(); n != 1 {
			return fmt.Errorf("%s has %d of the members that say what it does; set one", at, n)
		}
		if name := s.foreign(p); name != "" {
			return fmt.Errorf("%s: %s is not for this kind of harness", at, name)
		}
		if err := s.End.validate(); err != nil {
			return fmt.Errorf("%s: end: %w", at, err)
		}
		switch {
		case s.WriteFile != nil && !filepath.IsLocal(s.WriteFile.Path):
			return fmt.Errorf("%s: %q leaves the working directory; give a relative path inside it", at, s.WriteFile.Path)
		case s.Huge != nil && !slices.Contains([]string{"delta", "junk", "request", "response"}, s.Huge.Kind):
			return fmt.Errorf("%s: huge.kind %q is none of delta, junk, request, response", at, s.Huge.Kind)
		case s.WaitFile != "" && !filepath.IsAbs(s.WaitFile):
			return fmt.Errorf("%s: wait_file %q is not absolute", at, s.WaitFile)
		case s.Form != nil && s.Form.Schema == nil, s.URL != nil && s.URL.URL == "":
			return fmt.Errorf("%s: a form needs its schema, a url its url", at)
		case s.RawBase64 != "":
			if _, err := base64.StdEncoding.DecodeString(s.RawBase64); err != nil {
				return fmt.Errorf("%s: raw_base64: %w", at, err)
			}
		}
		var nested [][]Step
		nested = append(nested, s.Then, s.Else, s.SelfTurn)
		if s.Child != nil {
			nested = append(nested, s.Child.Steps)
		}
		for _, steps := range nested {
			if err := validateSteps(fmt.Sprintf("%s, step %d", where, i+1), steps, p); err != nil {
				return err
			}
		}
	}
	return nil
}
