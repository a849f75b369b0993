package acp

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/savedstate"
)

// setterTimeoutMS ends a setter (rule 3). evidenceTimeoutMS is how long the agent has
// to tell that a setting is in force after it took it.
const (
	setterTimeoutMS   = 30_000
	evidenceTimeoutMS = 5_000
)

// job is our submission while its settings are being put in force.
type job struct {
	turn, client string
	// prompt is the array of content blocks.
	prompt   string
	settings abi.Settings
	// done are the fields and options that were set for it, shaken tells that a mode
	// of which nothing was known was changed away first.
	done   []string
	shaken bool
}

func (j *job) walk(w *savedstate.Walker) {
	w.Str("turn", &j.turn)
	w.Str("client", &j.client)
	w.Str("prompt", &j.prompt)
	w.Value("settings", &j.settings)
	w.Strs("done", &j.done)
	w.Bool("shaken", &j.shaken)
}

func (j *job) did(field string) bool { return has(j.done, field) }

// setter is a call that sets something. turn is the job it is for, empty for one
// after a review.
type setter struct {
	token, turn string
	// field is what a person calls it, id the config option, value what it is set to.
	field, id, value string
	// effort goes along with a model where one call carries both.
	effort string
	kind   string
	// lists and notices were the counts when it was sent.
	lists, notices int64
	// answered: it was taken, the evidence is missing.
	answered bool
	// blind: the agent did not tell that there is such an option.
	blind bool
}

// The kinds of setters.
const (
	setOption = "option"
	setMode   = "mode"
	setShake  = "shake"
	setModel  = "model"
)

func (c *setter) walk(w *savedstate.Walker) {
	w.Str("token", &c.token)
	w.Str("turn", &c.turn)
	w.Str("field", &c.field)
	w.Str("id", &c.id)
	w.Str("value", &c.value)
	w.Str("effort", &c.effort)
	w.Str("kind", &c.kind)
	w.Int("lists", &c.lists)
	w.Int("notices", &c.notices)
	w.Bool("answered", &c.answered)
	w.Bool("blind", &c.blind)
}

// Fields of the tuple, as a problem names them.
const (
	wishMode       = "mode"
	wishPermission = "permission"
	wishModel      = "model"
	wishEffort     = "effort"
)

// refusal says why a submission was not sent. Field is the setting to choose again,
// empty where choosing does not help.
type refusal struct{ code, field, message string }

// submit takes a submission and starts to put its tuple in force.
func (r *Reducer) submit(s *abi.Submit, out *guest.Effects) {
	var bad *refusal
	switch {
	case r.phase != phaseReady:
		bad = &refusal{code: "session_not_ready", message: "The " + r.d.Title + " session is not open."}
	case r.cur != nil || r.job != nil:
		// Some agents would queue it, others refuse it; neither is under our settings.
		bad = &refusal{code: "turn_running", message: "Another turn is running; send the message when it has ended."}
	case len(s.Content) == 0:
		bad = &refusal{code: "content_empty", message: "The message has no content."}
	default:
		bad = r.checkContent(s.Content)
	}
	if bad != nil {
		r.notSent(out, s.Turn, bad)
		return
	}
	r.job = &job{turn: s.Turn, client: s.ClientID, prompt: string(appendPrompt(nil, s.Content)), settings: s.Settings}
	r.job.settings.Options = append([]abi.OptionValue(nil), s.Settings.Options...)
	// What a restored review left to do is overtaken by this message's own settings.
	r.mend = ""
	r.pump(out)
}

// notSent reports that nothing was sent, with a problem where a setting has to be
// chosen again.
func (r *Reducer) notSent(out *guest.Effects, turn string, bad *refusal) {
	out.Delivery(&abi.Delivery{Turn: turn, Status: abi.DeliveryNotSent, Code: bad.code, Message: bad.message})
	if bad.field != "" {
		r.problem(out, abi.Problem{Code: bad.code, Field: bad.field, Message: bad.message, Needs: abi.NeedsChoice})
	}
}

// checkContent refuses what would be stripped or sent as something else (C1).
func (r *Reducer) checkContent(content []abi.Content) *refusal {
	for i := range content {
		switch content[i].Type {
		case abi.ContentText:
		case abi.ContentImage:
			if !r.caps.images {
				return &refusal{code: "images_unsupported", message: r.d.Title + " does not take images; send the message without them."}
			}
		default:
			return &refusal{code: "content_unsupported", message: r.d.Title + " does not take content of type \"" + string(content[i].Type) + "\"."}
		}
	}
	return nil
}

// appendPrompt appends the array of content blocks. The bytes of an image are a
// placeholder that the host replaces on the pipe.
func appendPrompt(p []byte, content []abi.Content) []byte {
	p = append(p, '[')
	for i := range content {
		c := &content[i]
		p = append(jsonwire.AppendComma(p), '{')
		if c.Type == abi.ContentImage {
			p = jsonwire.AppendField(p, FieldType, EnumContentBlockTypeImage)
			p = jsonwire.AppendField(p, FieldMimeType, c.Media)
			p = jsonwire.AppendField(p, FieldData, c.Data)
		} else {
			p = jsonwire.AppendField(p, FieldType, EnumContentBlockTypeText)
			p = jsonwire.AppendField(p, FieldText, c.Text)
		}
		p = append(p, '}')
	}
	return append(p, ']')
}

// pump sends the next setter of the waiting submission, or its prompt. One setter is
// under way at a time, also of a submission that was stopped meanwhile.
func (r *Reducer) pump(out *guest.Effects) {
	if r.job == nil || r.call != nil {
		return
	}
	next, bad := r.next(out)
	switch {
	case bad != nil:
		r.failJob(bad, out)
	case next != nil:
		next.turn = r.job.turn
		r.set(next, out)
	default:
		r.prompt(out)
	}
}

func (r *Reducer) failJob(bad *refusal, out *guest.Effects) {
	turn := r.job.turn
	r.job = nil
	r.notSent(out, turn, bad)
	r.observe(out)
}

// next resolves the tuple against what the agent offers now and returns the first
// setter that is missing, or why there can be none. The model comes first, because
// choosing it rebuilds the rest, which is therefore checked after it; the mode comes
// last, so that nothing runs in a wider mode under a wrong model.
func (r *Reducer) next(out *guest.Effects) (*setter, *refusal) {
	j, s := r.job, &r.settings
	if c := r.blindSetter(&j.settings); c != nil {
		s.asked = true
		return c, nil
	}
	model, bad := r.wishedModel(&j.settings)
	if bad != nil {
		return nil, bad
	}
	effort, bad := r.wishedEffort(&j.settings, model)
	if j.settings.Effort == "" && r.effortOption() == nil && model != "" && (j.did(wishModel) || model != r.nativeModel()) {
		// Nothing tells which efforts another model has, so it is left with its own.
		effort = ""
	}
	if model != "" && !j.did(wishModel) && (model != r.nativeModel() || s.forceModel) {
		if r.modelOption() == nil && bad == nil {
			return &setter{kind: setModel, field: wishModel, value: model, effort: effort}, nil
		}
		return r.modelSetter(model), nil
	}
	if bad != nil {
		return nil, bad
	}
	if bad := r.checkOptions(&j.settings); bad != nil {
		return nil, bad
	}
	native, instead, bad := r.wishedMode(&j.settings)
	if bad != nil {
		return nil, bad
	}
	if model != "" && model != r.nativeModel() {
		return nil, r.notApplied(wishModel, model, r.nativeModel())
	}
	if effort != "" {
		switch {
		case !j.did(wishEffort) && (effort != r.nativeEffort() || s.forceEffort):
			return r.effortSetter(effort), nil
		case effort != r.nativeEffort():
			return nil, r.notApplied(wishEffort, effort, r.nativeEffort())
		}
	}
	if next, bad := r.nextOption(); next != nil || bad != nil {
		return next, bad
	}
	if native != "" {
		switch {
		case !j.did(wishMode) && (native != r.nativeMode() || s.forceMode):
			return r.modeSetter(native), nil
		case native != r.nativeMode():
			return nil, r.notApplied(wishMode, native, r.nativeMode())
		}
	}
	if instead != "" {
		r.problem(out, abi.Problem{Code: codePermission, Field: wishPermission, Message: instead})
	} else {
		r.resolve(out, func(p *abi.Problem) bool { return p.Code == codePermission && p.Needs == abi.NeedsNothing })
	}
	return nil, nil
}

// blindSetter sets the mode once in a restored session of which the agent told nothing:
// its answer to that has the options. Where it takes no such option, the submission
// goes on with what is known.
func (r *Reducer) blindSetter(w *abi.Settings) *setter {
	s, m := &r.settings, &r.d.Modes
	if r.restored != abi.RestoredResumed || m.Option == "" || s.modern || s.asked || len(s.modes) > 0 {
		return nil
	}
	native := w.Mode
	if native == "" || native == m.Execution.ID {
		p := r.permission(w.Permission)
		if p == nil {
			return nil
		}
		native = p.Mode
	}
	if native == "" {
		return nil
	}
	return &setter{kind: setOption, field: wishMode, id: m.Option, value: native, blind: true}
}

const (
	codePermission = "permission_unavailable"
	codeNotApplied = "not_applied"
)

func (r *Reducer) notApplied(field, wished, now string) *refusal {
	m := r.d.Title + " took the " + field + " \"" + wished + "\" and did not apply it"
	if now != "" {
		m += "; \"" + now + "\" is in force"
	}
	return &refusal{codeNotApplied, field, m + ". The message was not sent."}
}

// wishedModel resolves the model. Without a wish it is the agent's own default, as
// far as a new session told it; "" leaves the model alone.
func (r *Reducer) wishedModel(w *abi.Settings) (string, *refusal) {
	o := r.modelOption()
	if w.Model == "" {
		// After a restore too: a model that the user configured is the agent's default.
		if !r.settings.isTouched(wishModel) {
			return "", nil
		}
		if o == nil {
			return r.settings.base.model, nil
		}
		standard, known := r.settings.base.role(o, r.settings.base.model)
		if !known {
			standard = defaultChoice
		}
		if !o.offers(standard) {
			return "", nil
		}
		return standard, nil
	}
	known := false
	if o != nil {
		known = o.offers(w.Model)
	} else {
		for i := range r.settings.models {
			known = known || r.settings.models[i].ID == w.Model
		}
	}
	if !known {
		return "", &refusal{"unknown_model", wishModel, r.d.Title + " does not offer the model \"" + w.Model + "\"; choose one of its models."}
	}
	return w.Model, nil
}

// defaultChoice is the value by which agents offer their own default.
const defaultChoice = "default"

func (r *Reducer) wishedEffort(w *abi.Settings, model string) (string, *refusal) {
	list := r.efforts()
	if w.Effort == "" {
		if !r.settings.isTouched(wishEffort) {
			return "", nil
		}
		standard := r.settings.base.effort
		if o := r.effortOption(); o != nil {
			standard, _ = r.settings.base.role(o, standard)
		}
		if !r.settings.base.known && standard == "" {
			standard = defaultChoice
		}
		if !hasChoice(list, standard) {
			return "", nil
		}
		return standard, nil
	}
	if hasChoice(list, w.Effort) {
		return w.Effort, nil
	}
	m := r.d.NoEffort
	if m == "" {
		if model == "" {
			model = r.nativeModel()
		}
		m = "The model \"" + model + "\" has no effort \"" + w.Effort + "\"; choose one of its efforts."
	}
	return "", &refusal{"unknown_effort", wishEffort, m}
}

func (r *Reducer) checkOptions(w *abi.Settings) *refusal {
	for i := range w.Options {
		v := &w.Options[i]
		o := r.settings.option(v.ID)
		if o == nil || o == r.modeOption() || o == r.modelOption() || o == r.effortOption() {
			return &refusal{"unknown_option", v.ID, r.d.Title + " has no option \"" + v.ID + "\" that can be set with this model."}
		}
		if !o.offers(v.Value) {
			return &refusal{"unknown_option", v.ID, "The option \"" + v.ID + "\" has no value \"" + v.Value + "\"; choose one of its values."}
		}
	}
	return nil
}

// nextOption finds an option to set: one that is wished, or one that we changed and
// that is wished no more.
func (r *Reducer) nextOption() (*setter, *refusal) {
	j := r.job
	for i := range j.settings.Options {
		v := &j.settings.Options[i]
		o := r.settings.option(v.ID)
		done := j.did(optionMark + v.ID)
		if o.current == v.Value && (done || !has(r.settings.forced, v.ID)) {
			continue
		}
		if done {
			return nil, r.notApplied(v.ID, v.Value, o.current)
		}
		return &setter{kind: setOption, field: v.ID, id: v.ID, value: v.Value}, nil
	}
	mode, model, effort := r.modeOption(), r.modelOption(), r.effortOption()
	for i := range r.settings.options {
		o := &r.settings.options[i]
		if o == mode || o == model || o == effort || !r.settings.isTouched(optionMark+o.id) || j.did(optionMark+o.id) || wishes(&j.settings, o.id) {
			continue
		}
		// Looked up for what we touched only: both lists are the agent's and can be long.
		standard, known := r.settings.base.option(o.id)
		if !known || o.current == standard && !has(r.settings.forced, o.id) || !o.offers(standard) {
			continue
		}
		return &setter{kind: setOption, field: o.id, id: o.id, value: standard}, nil
	}
	return nil, nil
}

// optionMark keeps option ids apart from the fields of the tuple.
const optionMark = "option/"

func wishes(w *abi.Settings, option string) bool {
	for i := range w.Options {
		if w.Options[i].ID == option {
			return true
		}
	}
	return false
}

// wishedMode resolves mode and permission to one native mode; "" leaves it alone.
// instead says what is in force in place of a permission the agent does not have.
func (r *Reducer) wishedMode(w *abi.Settings) (native, instead string, bad *refusal) {
	m := &r.d.Modes
	p := r.permission(w.Permission)
	if p == nil {
		return "", "", &refusal{"unknown_permission", wishPermission, "There is no permission \"" + string(w.Permission) + "\"."}
	}
	mode := w.Mode
	if mode == "" {
		mode = m.Execution.ID
	}
	switch {
	case mode == "":
		// No mode is wished and none has a meaning.
		if r.settings.isTouched(wishMode) || r.settings.forceMode {
			native = r.settings.base.mode
			if o := r.modeOption(); o != nil {
				native, _ = r.settings.base.role(o, native)
			}
		}
	case mode == m.Execution.ID:
		if p.Support == abi.SupportNative && !r.canPermit(p) {
			return "", "", r.noPermission(p)
		}
		if native = p.Mode; len(r.offeredModes()) == 0 {
			native = ""
		}
	case r.offersMode(mode) && (mode == m.Planning || m.Execution.ID == "" || !r.isPermission(mode)):
		native = mode
	default:
		return "", "", &refusal{"unknown_mode", wishMode, r.d.Title + " does not offer the mode \"" + mode + "\"; choose one of its modes."}
	}
	if p.Support == abi.SupportNone && mode != m.Planning {
		if p.InsteadOf == "" {
			return "", "", r.noPermission(p)
		}
		instead = p.InsteadOf
	}
	return native, instead, nil
}

func (r *Reducer) noPermission(p *Permission) *refusal {
	return &refusal{codePermission, wishPermission, r.d.Title + " does not offer the permission \"" + string(p.Permission) + "\" with this model or on this machine; choose another."}
}

func (r *Reducer) modelSetter(model string) *setter {
	if o := r.modelOption(); o != nil {
		return &setter{kind: setOption, field: wishModel, id: o.id, value: model}
	}
	return &setter{kind: setModel, field: wishModel, value: model}
}

func (r *Reducer) effortSetter(effort string) *setter {
	if o := r.effortOption(); o != nil {
		return &setter{kind: setOption, field: wishEffort, id: o.id, value: effort}
	}
	return &setter{kind: setModel, field: wishEffort, value: r.nativeModel(), effort: effort}
}

// modeSetter sets the mode. An agent that tells every change and of whose mode
// nothing is known, after a restore, is sent to another mode first: only then is
// there a change to tell.
func (r *Reducer) modeSetter(native string) *setter {
	if o := r.modeOption(); o != nil {
		return &setter{kind: setOption, field: wishMode, id: o.id, value: native}
	}
	if r.d.Modes.Proves && !r.job.shaken && r.settings.mode == "" {
		for _, m := range r.offeredModes() {
			if m.ID != native {
				return &setter{kind: setShake, field: wishMode, value: m.ID}
			}
		}
	}
	return &setter{kind: setMode, field: wishMode, value: native}
}

// set sends a setter.
func (r *Reducer) set(c *setter, out *guest.Effects) {
	r.seq++
	c.token = tokenSet + string(jsonwire.AppendInt(nil, r.seq))
	c.lists, c.notices = r.settings.lists, r.settings.notices
	r.call = c
	p := append(r.buf[:0], '{')
	p = jsonwire.AppendField(p, FieldSessionID, r.session)
	switch c.kind {
	case setOption:
		p = jsonwire.AppendField(p, FieldConfigID, c.id)
		if o := r.settings.option(c.id); o != nil && o.kind == EnumSessionConfigOptionTypeBoolean {
			p = jsonwire.AppendField(p, FieldType, EnumSetSessionConfigOptionRequestTypeBoolean)
			p = jsonwire.AppendBool(jsonwire.AppendKey(p, FieldValue), c.value == "true")
		} else {
			p = jsonwire.AppendField(p, FieldValue, c.value)
		}
		r.send(out, &abi.Call{Token: c.token, Method: MethodSessionSetConfigOption, Params: append(p, '}'), TimeoutMS: setterTimeoutMS})
	case setModel:
		p = jsonwire.AppendField(p, FieldModelID, c.value)
		if c.effort != "" && r.d.EffortMeta != nil {
			p = r.d.EffortMeta(jsonwire.AppendKey(p, FieldMeta), c.effort)
		}
		r.send(out, &abi.Call{Token: c.token, Method: MethodSessionSetModel, Params: append(p, '}'), TimeoutMS: setterTimeoutMS})
	default:
		p = jsonwire.AppendField(p, FieldModeID, c.value)
		r.send(out, &abi.Call{Token: c.token, Method: MethodSessionSetMode, Params: append(p, '}'), TimeoutMS: setterTimeoutMS})
	}
}

// setterAnswered handles the answer to the setter under way. Success is a claim; what
// the agent reports is the evidence (rule 4).
func (r *Reducer) setterAnswered(result []byte, err *abi.CallError, out *guest.Effects) {
	c := r.call
	if c.answered {
		return
	}
	if err != nil {
		r.call = nil
		if err.Local == localExited {
			return
		}
		r.setterFailed(c, err, out)
		return
	}
	s := &r.settings
	switch c.kind {
	case setOption:
		if list := s.readOptions(Member(result, FieldConfigOptions)); len(list) > 0 && s.lists == c.lists {
			// A list that came by notification since is newer than this answer (P10).
			mode, notices := r.nativeMode(), s.notices
			s.modern, s.options = true, list
			if o := r.modeOption(); o != nil && notices != c.notices {
				o.current = mode
			}
		}
	case setMode, setShake:
		if !r.d.Modes.Proves && s.notices == c.notices {
			s.mode = c.value
		}
	case setModel:
		if c.effort != "" {
			s.effort = c.effort
		} else if c.value != r.nativeModel() {
			s.effort = ""
			s.untouch(wishEffort)
		}
		s.model = c.value
		if o := r.modelOption(); o != nil {
			o.current = c.value
		}
	}
	r.touched(c)
	if !r.satisfied(c) {
		c.answered = true
		out.TimerSet(&abi.TimerSet{Name: timerEvidence, AfterMS: evidenceTimeoutMS})
		return
	}
	r.setterDone(c, out)
}

// touched remembers what we changed, so that it can be put back.
func (r *Reducer) touched(c *setter) {
	switch c.field {
	case wishMode, wishModel, wishEffort:
		r.settings.touch(c.field)
	default:
		r.settings.touch(optionMark + c.field)
	}
	if c.kind == setModel && c.effort != "" {
		r.settings.touch(wishEffort)
	}
}

// satisfied reports whether what a setter asked for is in force. A change away from
// a mode that is not known has nothing to prove.
func (r *Reducer) satisfied(c *setter) bool {
	switch {
	case c.kind == setShake:
		return true
	case c.field == wishMode:
		return r.nativeMode() == c.value
	case c.kind == setModel:
		return r.nativeModel() == c.value
	case c.field == wishModel:
		return r.nativeModel() == c.value
	case c.field == wishEffort:
		return r.nativeEffort() == c.value
	}
	o := r.settings.option(c.id)
	return o != nil && o.current == c.value
}

// evidence goes on when the agent tells what it had only claimed.
func (r *Reducer) evidence(out *guest.Effects) {
	if c := r.call; c != nil && c.answered && r.satisfied(c) {
		out.TimerClear(&abi.TimerClear{Name: timerEvidence})
		r.setterDone(c, out)
	}
}

// evidenceOverdue gives up on a setting that was taken and never reported.
func (r *Reducer) evidenceOverdue(out *guest.Effects) {
	c := r.call
	if c == nil || !c.answered {
		return
	}
	r.call = nil
	now := r.nativeMode()
	switch c.field {
	case wishMode:
	case wishModel:
		now = r.nativeModel()
	case wishEffort:
		now = r.nativeEffort()
	default:
		now = ""
		if o := r.settings.option(c.id); o != nil {
			now = o.current
		}
	}
	r.setterRefused(c, r.notApplied(c.field, c.value, now), out)
}

func (r *Reducer) setterDone(c *setter, out *guest.Effects) {
	r.call = nil
	s := &r.settings
	switch c.field {
	case wishMode:
		s.forceMode = s.forceMode && c.kind == setShake
	case wishModel:
		s.forceModel = false
	case wishEffort:
		s.forceEffort = false
	default:
		s.forced = without(s.forced, c.id)
	}
	if c.kind == setModel && c.effort != "" {
		s.forceEffort = false
	}
	// What a blind one set is checked again: its place is after the model.
	if j := r.job; j != nil && j.turn == c.turn && !c.blind {
		switch {
		case c.kind == setShake:
			j.shaken = true
		case c.field == wishMode || c.field == wishModel || c.field == wishEffort:
			j.done = append(j.done, c.field)
			if c.kind == setModel && c.effort != "" {
				j.done = append(j.done, wishEffort)
			}
		default:
			j.done = append(j.done, optionMark+c.field)
		}
	}
	r.tellCatalog(out)
	r.observe(out)
	if c.turn == "" {
		r.Warn(out, "permission_restored", r.d.Modes.AfterReview)
		r.mended(out)
	}
	r.pump(out)
}

// setterFailed handles an error, a timeout among them. What is in force is not known
// then, so the next submission sets it again (P7).
func (r *Reducer) setterFailed(c *setter, err *abi.CallError, out *guest.Effects) {
	if c.blind {
		r.pump(out)
		return
	}
	s := &r.settings
	switch c.field {
	case wishMode:
		s.forceMode = true
		if len(r.d.Modes.Hidden) > 0 {
			s.mode = ""
		}
	case wishModel:
		s.forceModel = true
	case wishEffort:
		s.forceEffort = true
	default:
		s.forced = with(s.forced, c.id)
	}
	if err.Local != "" {
		// It may have been set all the same, and is then to be put back once it is wished
		// no more.
		r.touched(c)
	}
	if err.Code == codeAuthRequired && err.Local == "" {
		r.signInProblem(out, errorText(err))
		r.setterRefused(c, &refusal{code: codeSignIn, message: r.d.Title + " is not signed in."}, out)
		return
	}
	what := c.field + " \"" + c.value + "\""
	if c.effort != "" {
		what += " with the effort \"" + c.effort + "\""
	}
	bad := &refusal{"setting_refused", c.field, r.d.Title + " refused the " + what + ": " + errorText(err)}
	if err.Local == localTimeout {
		bad.code, bad.message = "setting_timeout", r.d.Title+" did not answer within 30 seconds when the "+what+" was set."
	}
	r.setterRefused(c, bad, out)
}

// setterRefused ends the submission that a setter was for.
func (r *Reducer) setterRefused(c *setter, bad *refusal, out *guest.Effects) {
	if c.blind {
		// Nothing is known now that was not before.
	} else if c.turn == "" {
		r.problem(out, abi.Problem{Code: codePermissionDiffers, Field: wishPermission, Message: bad.message, Needs: abi.NeedsNothing})
		r.observe(out)
	} else if r.job != nil && r.job.turn == c.turn {
		r.failJob(bad, out)
	}
	r.pump(out)
}

// prompt sends the message, after every setter (rule 3).
func (r *Reducer) prompt(out *guest.Effects) {
	j := r.job
	r.job = nil
	// What the last turn did not work under is told of no other.
	r.resolve(out, func(p *abi.Problem) bool {
		return p.Needs == abi.NeedsChoice || p.Code == codeModelDiffers || p.Code == codePermissionDiffers
	})
	r.settled = true
	permission := j.settings.Permission
	if permission == "" {
		permission = abi.PermissionDefault
	}
	t := &turn{id: j.turn, client: j.client, permission: permission, model: j.settings.Model}
	p := append(r.buf[:0], '{')
	p = jsonwire.AppendField(p, FieldSessionID, r.session)
	p = append(jsonwire.AppendKey(p, FieldPrompt), j.prompt...)
	if r.d.PromptMeta != nil {
		t.native = j.client
		p = r.d.PromptMeta(jsonwire.AppendKey(p, FieldMeta), j.client)
	} else if r.own != nil {
		// What comes from now on cannot be told apart, so it counts as ours (rule 24).
		r.endOwn("joined", out)
	}
	r.flush(out)
	r.cur = t
	r.send(out, &abi.Call{Token: tokenPrompt + j.turn, Method: MethodSessionPrompt, Params: append(p, '}'), Delivers: j.turn})
	r.observe(out)
}
