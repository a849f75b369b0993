package codex

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// refusal says why a submission was not sent. Field is the setting to choose
// again, empty where choosing does not help.
type refusal struct{ code, field, message string }

// submit delivers a submission with one turn/start.
func (r *Reducer) submit(s *abi.Submit, out *guest.Effects) {
	if r.phase != phaseReady {
		r.notSent(out, s.Turn, &refusal{code: "session_not_ready", message: "The Codex session is not open."})
		return
	}
	if r.cur != nil {
		// Codex would add it to the running turn, under that turn's settings.
		r.notSent(out, s.Turn, &refusal{code: "turn_running", message: "Another turn is running; send the message when it has ended."})
		return
	}
	native, bad := r.tuple(&s.Settings)
	if bad == nil {
		bad = r.checkContent(s.Content, native.model)
	}
	answer := ""
	if bad == nil && len(s.Content) == 0 {
		if answer = answerText(s.Asked, s.Reply); answer == "" {
			bad = &refusal{code: "content_empty", message: "The message has no content."}
		}
	}
	if bad != nil {
		r.notSent(out, s.Turn, bad)
		return
	}
	r.resolve(out, func(p *abi.Problem) bool { return p.Needs == abi.NeedsChoice })

	p := append(r.buf[:0], '{')
	p = jsonwire.AppendField(p, FieldThreadID, r.session)
	p = jsonwire.AppendField(p, FieldClientUserMessageID, s.ClientID)
	p = jsonwire.AppendKey(p, FieldInput)
	if answer != "" {
		p = appendInput(p, []abi.Content{{Type: abi.ContentText, Text: answer}})
	} else {
		p = appendInput(p, s.Content)
	}
	p = native.append(p)
	p = append(p, '}')

	r.lastSent = s.Settings.Permission
	if r.lastSent == "" {
		r.lastSent = abi.PermissionDefault
	}
	r.cur = &turn{id: s.Turn, client: s.ClientID, mode: native.mode, starting: true}
	r.call(out, &abi.Call{Token: tokenTurn + s.Turn, Method: MethodTurnStart, Params: p, Delivers: s.Turn})
}

// notSent reports that nothing was sent, with a problem where a setting has to
// be chosen again.
func (r *Reducer) notSent(out *guest.Effects, turn string, bad *refusal) {
	out.Delivery(&abi.Delivery{Turn: turn, Status: abi.DeliveryNotSent, Code: bad.code, Message: bad.message})
	if bad.field != "" {
		r.problem(out, abi.Problem{Code: bad.code, Field: bad.field, Message: bad.message, Needs: abi.NeedsChoice})
	}
}

// tuple resolves the whole wish at once (rule 3), against the live catalog.
func (r *Reducer) tuple(s *abi.Settings) (n stance, bad *refusal) {
	mode := s.Mode
	if mode == "" {
		// Said explicitly: leaving it out would stay in the mode before (P3).
		mode = EnumModeKindDefault
	}
	// A server without a list still has the default mode.
	if r.mode(mode) == nil && mode != EnumModeKindDefault {
		return n, &refusal{"unknown_mode", "mode", "Codex does not offer the mode \"" + mode + "\"; choose one of its modes."}
	}
	n, ok := r.nativePermission(s.Permission)
	if !ok {
		return n, &refusal{"unknown_permission", "permission", "There is no permission \"" + string(s.Permission) + "\"."}
	}
	n.mode = mode
	n.model = s.Model
	if n.model == "" {
		n.model = r.defaultModel(mode)
	}
	if n.model == "" || r.model(n.model) == nil && n.model != r.baseline.model && n.model != r.sessionModel {
		return n, &refusal{"unknown_model", "model", "Codex does not offer the model \"" + n.model + "\"; choose one of its models."}
	}
	if n.effort, ok = r.effort(mode, n.model, s.Effort); !ok {
		return n, &refusal{"unknown_effort", "effort", "The model \"" + n.model + "\" has no effort \"" + s.Effort + "\"; choose one of its efforts."}
	}
	if len(s.Options) > 0 {
		id := s.Options[0].ID
		return n, &refusal{"unknown_option", id, "Codex has no option \"" + id + "\" that can be set here."}
	}
	return n, nil
}

// defaultModel is the model of a mode when none was chosen.
func (r *Reducer) defaultModel(mode string) string {
	for _, p := range r.presets {
		if p.mode == mode && p.model != "" {
			return p.model
		}
	}
	if r.baseline.model != "" {
		return r.baseline.model
	}
	return r.sessionModel
}

// effort resolves the effort: the chosen one, else what the mode proposes, else
// what is configured for the model, else the model's own default. ok is false if
// the model does not have the chosen one (Q7). A model that the provider does
// not describe takes any. "" means that no effort is sent.
func (r *Reducer) effort(mode, model, wished string) (effort string, ok bool) {
	m := r.model(model)
	has := func(e string) bool { return e != "" && (m == nil || hasEffort(m, e)) }
	if wished != "" {
		return wished, has(wished)
	}
	if c := r.mode(mode); c != nil && has(c.DefaultEffort) {
		return c.DefaultEffort, true
	}
	if model == r.baseline.model && has(r.baseline.effort) {
		return r.baseline.effort, true
	}
	if m != nil && has(m.DefaultEffort) {
		return m.DefaultEffort, true
	}
	return "", true
}

// append appends the settings of turn/start. The settings inside the
// collaboration mode take precedence over model and effort beside it, so those
// are not sent twice; null instructions mean the mode's built-in ones.
func (s *stance) append(p []byte) []byte {
	p = append(jsonwire.AppendKey(p, FieldCollaborationMode), '{')
	p = jsonwire.AppendField(p, FieldMode, s.mode)
	p = append(jsonwire.AppendKey(p, FieldSettings), '{')
	p = jsonwire.AppendField(p, FieldModel, s.model)
	p = jsonwire.AppendKey(p, FieldReasoningEffortSnake)
	if s.effort == "" {
		p = jsonwire.AppendRaw(p, nil)
	} else {
		p = jsonwire.AppendString(p, s.effort)
	}
	p = jsonwire.AppendRaw(jsonwire.AppendKey(p, FieldDeveloperInstructionsSnake), nil)
	p = append(p, '}', '}')
	p = jsonwire.AppendRaw(jsonwire.AppendKey(p, FieldApprovalPolicy), []byte(s.policy))
	p = jsonwire.AppendField(p, FieldApprovalsReviewer, s.reviewer)
	return jsonwire.AppendRaw(jsonwire.AppendKey(p, FieldSandboxPolicy), []byte(s.sandbox))
}

// checkContent refuses what would be stripped or sent as something else (C1).
func (r *Reducer) checkContent(content []abi.Content, model string) *refusal {
	for i := range content {
		switch content[i].Type {
		case abi.ContentText:
		case abi.ContentImage:
			if m := r.model(model); m != nil && !m.Images {
				return &refusal{"images_unsupported", "model", "The model \"" + model + "\" does not take images; choose another model or send the message without them."}
			}
		default:
			return &refusal{code: "content_unsupported", message: "Codex takes text and images, not content of type \"" + string(content[i].Type) + "\"."}
		}
	}
	return nil
}

// appendInput appends the array of user inputs. An image is a data URL around
// the placeholder that the host replaces on the pipe.
func appendInput(p []byte, content []abi.Content) []byte {
	p = append(p, '[')
	for i := range content {
		c := &content[i]
		p = append(jsonwire.AppendComma(p), '{')
		if c.Type == abi.ContentImage {
			p = jsonwire.AppendField(p, FieldType, EnumUserInputTypeImage)
			p = jsonwire.AppendField(p, FieldURL, "data:"+c.Media+";base64,"+c.Data)
		} else {
			p = jsonwire.AppendField(p, FieldType, EnumUserInputTypeText)
			p = jsonwire.AppendField(p, FieldText, c.Text)
		}
		p = append(p, '}')
	}
	return append(p, ']')
}
