// Package claude is the binding for Claude through its ACP adapter: the shared
// reducer of package acp with Claude's dialect. Two versions of the adapter are
// supported at once, 0.49.0 and 0.101.0; where they differ both forms are read, and
// what a version offers decides. Facts noted as seen were recorded on those two.
//
// Claude has one native axis for mode and permission, the config option "mode": while
// it plans, the execution permission is remembered and not in force.
package claude

import (
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/bindings-src/acp"
)

// New returns a reducer that waits for its first open event.
func New() *acp.Reducer { return acp.New(dialect) }

// Native modes. Those that mean a permission are listed as one execution mode.
const (
	modeDefault     = "default"
	modeAcceptEdits = "acceptEdits"
	modeAuto        = "auto"
	modeBypass      = "bypassPermissions"
	modePlan        = "plan"
)

var dialect = acp.Dialect{
	Title:  "Claude",
	SignIn: "run \"claude-agent-acp --cli auth login\", or set ANTHROPIC_API_KEY, and start the session again.",
	// Every way to sign in that the adapter offers needs a person in a terminal.
	AuthMethod: nil,
	Modes: acp.Modes{
		Option:     "mode",
		Planning:   modePlan,
		EnforcedBy: abi.EnforcedByHarness,
		Execution:  abi.ModeChoice{ID: modeDefault, Name: "Execute", Description: "Does the work under the chosen permission."},
		Permissions: []acp.Permission{
			{Permission: abi.PermissionDefault, Support: abi.SupportNative, Mode: modeDefault, Describe: "mode default: asks before changes"},
			{Permission: abi.PermissionAcceptEdits, Support: abi.SupportNative, Mode: modeAcceptEdits, Describe: "mode acceptEdits: edits files, asks for the rest"},
			{Permission: abi.PermissionAuto, Support: abi.SupportNative, Mode: modeAuto, Describe: "mode auto: a classifier decides"},
			{Permission: abi.PermissionBypass, Support: abi.SupportNative, Mode: modeBypass, Describe: "mode bypassPermissions: asks nothing"},
		},
	},
	ModelOption:   "model",
	EffortOption:  "effort",
	Tool:          tool,
	Notice:        notice,
	OwnTurnEnds:   ownTurnEnds,
	Review:        review,
	Questionnaire: questionnaire,
}

// Names that the adapter puts beside the protocol.
const (
	metaClaude   = "claudeCode"
	metaOrigin   = "_claude/origin"
	metaOption   = "_claude/askUserQuestionOption"
	toolQuestion = "AskUserQuestion"
	toolExitPlan = "ExitPlanMode"
	originHuman  = "human"
)

// tool reads the tool's name and, for what a child agent does, the call that runs it.
func tool(meta []byte) (name, parent string) {
	inner := acp.Member(meta, metaClaude)
	if inner == nil {
		return "", ""
	}
	return acp.Text(inner, "toolName"), acp.Text(inner, "parentToolUseId")
}

// notice: the adapter 0.101.0 tells warnings of the program as text of the agent, with
// a mark (seen).
func notice(meta []byte) bool {
	return acp.Text(acp.Member(meta, metaClaude), acp.FieldKind) == "informational"
}

// ownTurnEnds: the usage at the end of a cycle tells who began it. One that no person
// began, such as the report of a background task, ends Claude's own turn.
func ownTurnEnds(meta []byte) bool {
	origin := acp.Member(meta, metaOrigin)
	return origin != nil && acp.Text(origin, acp.FieldKind) != originHuman
}

// exitPlan are the option ids of a plan review that approve it, with the permission
// that follows. The older adapter's ids are the native modes themselves.
var exitPlan = [...]struct {
	id         string
	permission abi.Permission
}{
	{modeDefault, abi.PermissionDefault},
	{modeAcceptEdits, abi.PermissionAcceptEdits},
	{modeAuto, abi.PermissionAuto},
	{modeBypass, abi.PermissionBypass},
	{"exit-plan-default", abi.PermissionDefault},
	{"exit-plan-accept-edits", abi.PermissionAcceptEdits},
	{"exit-plan-auto", abi.PermissionAuto},
	{"exit-plan-bypass", abi.PermissionBypass},
	{"exit-plan-clear-accept-edits", abi.PermissionAcceptEdits},
	{"exit-plan-clear-auto", abi.PermissionAuto},
	{"exit-plan-clear-bypass", abi.PermissionBypass},
}

// review recognises a plan review by the kind of its tool call and by what it offers:
// entering plan mode is asked with the same kind. Decisions are chosen by a known id
// and by kind, never by their place. Those that clear the context come last, so that
// they are taken only when a person picks them.
func review(t *acp.ToolCall, options []acp.Option) ([]abi.Decision, bool) {
	if t.Kind != acp.EnumToolKindSwitchMode {
		return nil, false
	}
	known := t.Name == toolExitPlan
	var decisions, clearing []abi.Decision
	rejects := false
	for _, o := range options {
		d := abi.Decision{ID: o.ID, Label: o.Name, Kind: abi.DecisionKind(o.Kind)}
		switch d.Kind {
		case abi.AllowOnce, abi.AllowAlways:
			d.Mode = modeDefault
			for _, e := range exitPlan {
				if e.id == o.ID {
					d.Permission = e.permission
					known = known || o.ID != modeDefault
				}
			}
			if d.Permission == "" {
				// What follows is not known, so it must not pass for what fits always.
				d.Permission = abi.PermissionBypass
			}
		case abi.RejectOnce, abi.RejectAlways:
			d.Mode = modePlan
			rejects = true
		default:
			continue
		}
		if strings.HasPrefix(o.ID, clearPrefix) {
			clearing = append(clearing, d)
		} else {
			decisions = append(decisions, d)
		}
	}
	if !known || !rejects || len(decisions) < 2 {
		return nil, false
	}
	return append(decisions, clearing...), true
}

const clearPrefix = "exit-plan-clear-"

// Members of a questionnaire: question_N, and question_N_custom for a text of the
// person's own.
const (
	questionPrefix = "question_"
	customSuffix   = "_custom"
)

// questionnaire maps the form of the AskUserQuestion tool. Any other form stays one,
// also if its members are named alike (DESIGN rule 15).
func questionnaire(f *acp.Form) (q acp.Questionnaire, ok bool) {
	if f.Tool == nil || f.Tool.Name != toolQuestion || len(f.Properties) == 0 {
		return q, false
	}
	q.Own = customSuffix
	for i := range f.Properties {
		p := &f.Properties[i]
		if base, custom := strings.CutSuffix(p.Name, customSuffix); custom {
			field := fieldOf(q.Fields, base)
			if field == nil {
				return q, false
			}
			field.Other = true
			// The newer adapter takes the text beside a choice, as a note or one more
			// answer; in the older one it replaces the choice (seen). Its description
			// says which.
			field.OtherBeside = strings.Contains(p.Description, " add ")
			continue
		}
		if !isQuestion(p.Name) || len(p.Options) == 0 {
			return q, false
		}
		field := abi.Field{ID: p.Name, Header: p.Title, Text: p.Description, MultiSelect: p.Multi}
		for i, o := range p.Options {
			extra := acp.Member(p.Metas[i], metaOption)
			if d := acp.Text(extra, acp.FieldDescription); d != "" {
				// The older adapter joins label and description in the title.
				o.Label, o.Description = o.Value, d
			}
			o.Preview = acp.Text(extra, "preview")
			field.Options = append(field.Options, o)
		}
		q.Fields = append(q.Fields, field)
	}
	if len(q.Fields) == 1 && q.Fields[0].Text == "" {
		// The newer adapter says a single question in the message only.
		q.Fields[0].Text = f.Message
	} else {
		q.Text = f.Message
	}
	return q, true
}

func isQuestion(name string) bool {
	number, ok := strings.CutPrefix(name, questionPrefix)
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

func fieldOf(fields []abi.Field, id string) *abi.Field {
	for i := range fields {
		if fields[i].ID == id {
			return &fields[i]
		}
	}
	return nil
}
