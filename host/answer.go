package host

import (
	"encoding/json"
	"slices"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// checkAnswer checks an answer against what the card asks and makes the reply
// for the binding, with a placeholder in place of each secret.
func checkAnswer(ask *abi.Interaction, a Answer) (abi.Reply, []secret, error) {
	switch ask.Type {
	case abi.InteractionQuestion:
		return checkQuestion(ask, a)
	case abi.InteractionPermission, abi.InteractionReview:
		return checkDecision(ask, a)
	case abi.InteractionForm:
		return checkForm(a)
	case abi.InteractionURL:
		return checkURL(a)
	}
	return abi.Reply{}, nil, failField(CodeAnswerShape, "type", "A card of the type %q cannot be answered.", ask.Type)
}

// answerDisposition is what a person's answer makes of its card (rule 12): a question
// of which nothing is answered is skipped, and a form or URL can be cancelled.
func answerDisposition(k store.Interaction) abi.Disposition {
	reply := decodeOwn[abi.Reply](k.Reply)
	switch abi.InteractionType(k.Type) {
	case abi.InteractionQuestion:
		if !slices.ContainsFunc(reply.Fields, func(f abi.FieldAnswer) bool { return f.State == abi.StateAnswered }) {
			return abi.DispositionSkipped
		}
	case abi.InteractionForm, abi.InteractionURL:
		if reply.Action == abi.ActionCancel {
			return abi.DispositionCancelled
		}
	}
	return abi.DispositionAnswered
}

// byPerson reports whether a closed card has the disposition that a person's answer
// gave it.
func byPerson(k store.Interaction) bool {
	return len(k.Reply) > 0 && k.Disposition == string(answerDisposition(k))
}

func checkQuestion(ask *abi.Interaction, a Answer) (abi.Reply, []secret, error) {
	if a.Decision != "" || a.Action != "" || len(a.Content) > 0 {
		return abi.Reply{}, nil, failField(CodeAnswerShape, "fields", "A question is answered with fields.")
	}
	var out abi.Reply
	var secrets []secret
	seen := map[string]bool{}
	index := fieldIndex(ask)
	for _, in := range a.Fields {
		i, ok := index[in.Field]
		if !ok {
			return abi.Reply{}, nil, failField(CodeAnswerShape, in.Field, "The card has no field %q.", in.Field)
		}
		if seen[in.Field] {
			return abi.Reply{}, nil, failField(CodeAnswerShape, in.Field, "The field %q is answered twice.", in.Field)
		}
		seen[in.Field] = true
		f := &ask.Fields[i]
		ans, err := checkField(f, in)
		if err != nil {
			return abi.Reply{}, nil, err
		}
		if f.Secret && ans.HasOther && ans.Other != "" {
			if ask.Route == abi.RouteFollowUp {
				return abi.Reply{}, nil, &Error{Code: CodeSecretFollowUp, Field: f.ID}
			}
			s := newSecret(ans.Other)
			secrets = append(secrets, s)
			ans.Other = s.placeholder
		}
		out.Fields = append(out.Fields, ans)
	}
	for _, f := range ask.Fields {
		if f.Required && !seen[f.ID] {
			return abi.Reply{}, nil, failField(CodeAnswerShape, f.ID, "The field %q must be answered.", f.ID)
		}
	}
	// The order of the questions, whatever the order of the answers.
	slices.SortStableFunc(out.Fields, func(x, y abi.FieldAnswer) int { return index[x.Field] - index[y.Field] })
	return out, secrets, nil
}

// fieldIndex is the place of each field, of the first where two have one id: a card can
// have thousands.
func fieldIndex(ask *abi.Interaction) map[string]int {
	index := make(map[string]int, len(ask.Fields))
	for i := range ask.Fields {
		if _, ok := index[ask.Fields[i].ID]; !ok {
			index[ask.Fields[i].ID] = i
		}
	}
	return index
}

// checkField checks the answer to one field: options by index, or a text where
// the field takes one (rule 10).
func checkField(f *abi.Field, in abi.FieldAnswer) (abi.FieldAnswer, error) {
	bad := func(code Code, format string, args ...any) (abi.FieldAnswer, error) {
		return abi.FieldAnswer{}, failField(code, f.ID, format, args...)
	}
	if in.Other != "" {
		in.HasOther = true
	}
	switch in.State {
	case abi.StateSkipped:
		if len(in.Selected) > 0 || in.HasOther {
			return bad(CodeAnswerShape, "The field %q is skipped and answered at once.", f.ID)
		}
		return abi.FieldAnswer{Field: f.ID, State: abi.StateSkipped}, nil
	case abi.StateAnswered, "":
	default:
		return bad(CodeAnswerShape, "The state %q of the field %q is neither answered nor skipped.", in.State, f.ID)
	}
	sel := slices.Clone(in.Selected)
	slices.Sort(sel)
	for i, n := range sel {
		if n < 0 || n >= int64(len(f.Options)) {
			return bad(CodeAnswerOption, "The field %q has no option %d.", f.ID, n)
		}
		if i > 0 && sel[i-1] == n {
			return bad(CodeAnswerShape, "The field %q selects option %d twice.", f.ID, n)
		}
	}
	takesText := f.Other || f.OtherBeside || len(f.Options) == 0
	switch {
	case in.HasOther && !takesText:
		return bad(CodeAnswerShape, "The field %q takes only its options.", f.ID)
	case in.HasOther && len(sel) > 0 && !f.OtherBeside:
		return bad(CodeAnswerShape, "The field %q takes an option or a text, not both.", f.ID)
	case len(sel) > 1 && !f.MultiSelect:
		return bad(CodeAnswerShape, "The field %q takes one option.", f.ID)
	case len(sel) == 0 && !in.HasOther && !f.MultiSelect:
		return bad(CodeAnswerShape, "The field %q has no answer; leave it out or skip it.", f.ID)
	}
	return abi.FieldAnswer{Field: f.ID, State: abi.StateAnswered, Selected: sel, HasOther: in.HasOther, Other: in.Other}, nil
}

func checkDecision(ask *abi.Interaction, a Answer) (abi.Reply, []secret, error) {
	if len(a.Fields) > 0 || a.Action != "" || len(a.Content) > 0 || a.Decision == "" {
		return abi.Reply{}, nil, failField(CodeAnswerShape, "decision", "This card is answered with one decision.")
	}
	i := slices.IndexFunc(ask.Decisions, func(d abi.Decision) bool { return d.ID == a.Decision })
	if i < 0 {
		return abi.Reply{}, nil, failField(CodeAnswerOption, "decision", "The card does not offer %q.", a.Decision)
	}
	if a.Feedback != "" && !ask.Decisions[i].Feedback {
		return abi.Reply{}, nil, failField(CodeAnswerShape, "feedback", "The decision %q takes no text.", a.Decision)
	}
	return abi.Reply{Decision: a.Decision, Feedback: a.Feedback}, nil, nil
}

func checkAction(a Answer) error {
	if len(a.Fields) > 0 || a.Decision != "" || a.Feedback != "" {
		return failField(CodeAnswerShape, "action", "This card is answered with an action.")
	}
	switch a.Action {
	case abi.ActionAccept, abi.ActionDecline, abi.ActionCancel:
		return nil
	}
	return failField(CodeAnswerShape, "action", "The action %q is not accept, decline or cancel.", a.Action)
}

// checkForm passes a form's content through untouched (rule 15); whether it fits
// the form is for the provider to say, only its being an object is checked.
func checkForm(a Answer) (abi.Reply, []secret, error) {
	if err := checkAction(a); err != nil {
		return abi.Reply{}, nil, err
	}
	if a.Action != abi.ActionAccept {
		if len(a.Content) > 0 {
			return abi.Reply{}, nil, failField(CodeAnswerShape, "content", "Content goes with accept only.")
		}
		return abi.Reply{Action: a.Action}, nil, nil
	}
	var obj map[string]json.RawMessage
	if err := json.Unmarshal(a.Content, &obj); err != nil || obj == nil {
		return abi.Reply{}, nil, failField(CodeAnswerShape, "content", "The content of the form is not a JSON object.")
	}
	return abi.Reply{Action: a.Action, Content: slices.Clone(a.Content)}, nil, nil
}

func checkURL(a Answer) (abi.Reply, []secret, error) {
	if err := checkAction(a); err != nil {
		return abi.Reply{}, nil, err
	}
	if len(a.Content) > 0 {
		return abi.Reply{}, nil, failField(CodeAnswerShape, "content", "A URL is answered with an action only.")
	}
	return abi.Reply{Action: a.Action}, nil, nil
}
