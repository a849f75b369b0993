// Package kimchi is the binding for Kimchi: the shared reducer of package acp with
// Kimchi's dialect. Facts noted as seen are in the recordings of the source of
// 2026-08-21.
//
// Kimchi has one native axis for mode and permission, the config option
// "permissions-mode", and no effort. It asks every question in a form of its own.
package kimchi

import (
	"strings"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/acp"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

// New returns a reducer that waits for its first open event.
func New() *acp.Reducer { return acp.New(dialect) }

// Native modes (seen).
const (
	modeDefault = "default"
	modePlan    = "plan"
	modeAuto    = "auto"
	modeYolo    = "yolo"
)

var dialect = acp.Dialect{
	Title:  "Kimchi",
	SignIn: "run \"kimchi login\" and start the session again.",
	// The one way to sign in that it offers opens a browser.
	AuthMethod: nil,
	Modes: acp.Modes{
		Option:     "permissions-mode",
		Planning:   modePlan,
		EnforcedBy: abi.EnforcedByHarness,
		Execution:  abi.ModeChoice{ID: modeDefault, Name: "Execute", Description: "Does the work under the chosen permission."},
		Permissions: []acp.Permission{
			{Permission: abi.PermissionDefault, Support: abi.SupportNative, Mode: modeDefault, Describe: "permissions-mode default: asks before changes"},
			{Permission: abi.PermissionAcceptEdits, Support: abi.SupportStandIn, Mode: modeDefault, Describe: "permissions-mode default, and the host allows edits one by one"},
			{Permission: abi.PermissionAuto, Support: abi.SupportNative, Mode: modeAuto, Describe: "permissions-mode auto: asks for what is risky"},
			{Permission: abi.PermissionBypass, Support: abi.SupportNative, Mode: modeYolo, Describe: "permissions-mode yolo: asks nothing"},
		},
		AfterReview: "Kimchi switches to its own mode \"auto\" when a plan is executed; the remembered permission was put back at once.",
	},
	ModelOption:  "model",
	NoEffort:     "Kimchi has no reasoning effort; choose none.",
	Chain:        questions,
	FeedbackForm: feedbackForm,
	FormReview:   formReview,
}

// questionnaire is the title of the tool that asks questions.
const questionnaire = "questionnaire"

// questions reads the group that the questionnaire tool asks, one form after the
// other. A question without text cannot be recognised in its form, so such a group
// stays as the forms come.
func questions(t *acp.ToolCall) (list []acp.ChainQuestion) {
	if t.Title != questionnaire {
		return nil
	}
	var d jsonwire.Decoder
	var b lists.Bound
	known := true
	d.Reset(acp.Member(t.Input, acp.FieldQuestions))
	b.Each(&d, func(d *jsonwire.Decoder) {
		q, ok := readQuestion(d, &b)
		known = known && ok
		list = append(list, q)
	})
	if !known || b.Left > 0 {
		return nil
	}
	return list
}

// Types of questions.
const (
	typeSingle  = "single"
	typeMulti   = "multi"
	typeText    = "text"
	typeConfirm = "confirm"
)

func readQuestion(d *jsonwire.Decoder, b *lists.Bound) (q acp.ChainQuestion, known bool) {
	f := &q.Field
	kind, prompt := "", ""
	acp.EachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case acp.FieldID:
			f.ID = d.String()
		case acp.FieldLabel:
			f.Header = d.String()
		case acp.FieldPrompt:
			prompt = d.String()
		case acp.FieldType:
			kind = d.String()
		case "allowOther":
			f.Other = d.Bool()
		case acp.FieldRequired:
			f.Required = d.Bool()
		case acp.FieldOptions:
			b.Each(d, func(d *jsonwire.Decoder) {
				var o abi.Option
				acp.EachKey(d, func(k []byte, d *jsonwire.Decoder) {
					switch string(k) {
					case acp.FieldID:
						o.Value = d.String()
					case acp.FieldLabel:
						o.Label = d.String()
					case acp.FieldDescription:
						o.Description = d.String()
					default:
						d.Skip()
					}
				})
				f.Options = append(f.Options, o)
			})
		default:
			d.Skip()
		}
	})
	f.Text, q.Message = prompt, prompt
	switch kind {
	case typeSingle:
		known = len(f.Options) > 0 || f.Other
	case typeMulti:
		known = len(f.Options) > 0 || f.Other
		f.MultiSelect, f.OtherBeside = true, f.Other
	case typeText:
		known, f.Other, f.Options = true, true, nil
	case typeConfirm:
		// Its form says the label and the question.
		q.Message, q.Confirm = f.Header+": "+prompt, true
		f.Other = false
		known = len(f.Options) == 2
	}
	return q, known && f.ID != "" && prompt != ""
}

// feedbackForm recognises the form that follows a declined permission (seen).
func feedbackForm(f *acp.Form) bool {
	return f.Message == "Tell the assistant what to do differently:" && len(f.Properties) == 1 && len(f.Properties[0].Options) == 0
}

// Beginnings of the choices of a plan review.
const (
	choiceExecute = "execute"
	choiceRework  = "rework"
)

// formReview recognises the choice that follows a plan: execute it, rework it, or hand
// it to another workflow. Its approval sets the mode auto, so no decision names the
// permission that follows: the remembered one is put back. The plain execution comes
// first.
func formReview(f *acp.Form) ([]abi.Decision, bool) {
	p := &f.Properties[0]
	if p.Multi {
		return nil, false
	}
	var execute, rework, other []abi.Decision
	for _, o := range p.Options {
		d := abi.Decision{ID: o.Value, Label: o.Label}
		switch label := strings.ToLower(strings.TrimSpace(o.Label)); {
		case strings.HasPrefix(label, choiceExecute):
			d.Kind, d.Mode = abi.AllowOnce, modeDefault
			execute = append(execute, d)
		case strings.HasPrefix(label, choiceRework):
			d.Kind, d.Mode = abi.RejectOnce, modePlan
			rework = append(rework, d)
		default:
			d.Kind, d.Mode = abi.AllowOnce, modeDefault
			other = append(other, d)
		}
	}
	if len(execute) == 0 || len(rework) == 0 {
		return nil, false
	}
	return append(append(execute, rework...), other...), true
}
