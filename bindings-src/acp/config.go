package acp

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
	"github.com/aoagents/ao-host/bindings-src/savedstate"
)

// settings is what the agent says is in force and can be chosen.
type settings struct {
	// modern: config options were offered, so the older modes and models are ignored
	// for good (rule 8).
	modern  bool
	options []configOption

	// The older API. mode is also that of agents with hidden modes, "" when unknown.
	modes   []abi.ModeChoice
	mode    string
	models  []abi.ModelChoice
	model   string
	efforts []abi.Choice
	effort  string

	// lists and notices count the whole lists and the single modes that came by
	// notification, so that an answer is known to be older than one (P10).
	lists, notices int64

	// base is what a new session had: the agent's own defaults.
	base base
	// touched are the fields and options that we set in this process.
	touched []string
	// left counts the entries that were left out and are not told yet.
	left int64
	// The tuple is applied whatever the agent reports.
	forceMode, forceModel, forceEffort bool
	// forced are the options whose setter failed: what they are is not known.
	forced []string
	// asked: the mode was set once to learn what there is to set.
	asked bool
}

type base struct {
	known               bool
	mode, model, effort string
	options             []abi.OptionValue
}

// configOption is one session config option. kind is its type; values that are not
// known stay usable as long as they have options or are strings.
type configOption struct {
	id, name, description, category string
	kind, current                   string
	values                          []abi.Choice
}

func (s *settings) walk(w *savedstate.Walker) {
	w.Bool("modern", &s.modern)
	savedstate.List(w, "options", &s.options, func(w *savedstate.Walker, o *configOption) {
		w.Str("id", &o.id)
		w.Str("name", &o.name)
		w.Str("description", &o.description)
		w.Str("category", &o.category)
		w.Str("kind", &o.kind)
		w.Str("current", &o.current)
		savedstate.Values(w, "values", &o.values)
	})
	savedstate.Values(w, "modes", &s.modes)
	w.Str("mode", &s.mode)
	savedstate.Values(w, "models", &s.models)
	w.Str("model", &s.model)
	savedstate.Values(w, "efforts", &s.efforts)
	w.Str("effort", &s.effort)
	w.Int("lists", &s.lists)
	w.Int("notices", &s.notices)
	w.Object("base", func(w *savedstate.Walker) {
		w.Bool("known", &s.base.known)
		w.Str("mode", &s.base.mode)
		w.Str("model", &s.base.model)
		w.Str("effort", &s.base.effort)
		savedstate.Values(w, "options", &s.base.options)
	})
	w.Strs("touched", &s.touched)
	w.Int("left", &s.left)
	w.Bool("force_mode", &s.forceMode)
	w.Bool("force_model", &s.forceModel)
	w.Bool("force_effort", &s.forceEffort)
	w.Strs("forced", &s.forced)
	w.Bool("asked", &s.asked)
}

func (s *settings) option(id string) *configOption {
	for i := range s.options {
		if s.options[i].id == id {
			return &s.options[i]
		}
	}
	return nil
}

// force makes the next submission apply its whole tuple.
func (s *settings) force() { s.forceMode, s.forceModel, s.forceEffort = true, true, true }

func (s *settings) touch(id string)          { s.touched = with(s.touched, id) }
func (s *settings) untouch(id string)        { s.touched = without(s.touched, id) }
func (s *settings) isTouched(id string) bool { return has(s.touched, id) }

// with, without and has treat a short list as a set.
func with(list []string, id string) []string {
	if has(list, id) {
		return list
	}
	return append(list, id)
}

func without(list []string, id string) []string {
	kept := list[:0]
	for _, t := range list {
		if t != id {
			kept = append(kept, t)
		}
	}
	return kept
}

func has(list []string, id string) bool {
	for _, t := range list {
		if t == id {
			return true
		}
	}
	return false
}

// remember keeps what a new session has as the agent's defaults. The roles of the
// options are looked up later, so the values are kept by id.
func (s *settings) remember() {
	s.base = base{known: true, mode: s.mode, model: s.model, effort: s.effort}
	for i := range s.options {
		s.base.options = append(s.base.options, abi.OptionValue{ID: s.options[i].id, Value: s.options[i].current})
	}
}

// recall takes over what an earlier process of a restored session changed and what the
// agent had there by itself, so that it is put back where nothing is wished any more.
func (s *settings) recall(own *abi.Settings) {
	if own == nil {
		return
	}
	s.base = base{mode: own.Mode, model: own.Model, effort: own.Effort, options: append([]abi.OptionValue(nil), own.Options...)}
	for _, f := range [...][2]string{{wishMode, own.Mode}, {wishModel, own.Model}, {wishEffort, own.Effort}} {
		if f[1] != "" {
			s.touch(f[0])
		}
	}
	for i := range own.Options {
		s.touch(optionMark + own.Options[i].ID)
	}
}

// role is the agent's own value of the option that has a role: by its id, or as it is
// recalled of the role itself.
func (b *base) role(o *configOption, recalled string) (string, bool) {
	if v, known := b.option(o.id); known || recalled == "" {
		return v, known
	}
	return recalled, true
}

func (b *base) option(id string) (string, bool) {
	for i := range b.options {
		if b.options[i].ID == id {
			return b.options[i].Value, true
		}
	}
	return "", false
}

// role finds the option that stands for a role: by the dialect's id, else by its
// category. The protocol calls categories presentation; they are the only hint that
// an agent without a dialect of its own gives.
func (r *Reducer) role(id, category string) *configOption {
	if id != "" {
		if o := r.settings.option(id); o != nil {
			return o
		}
	}
	for i := range r.settings.options {
		if o := &r.settings.options[i]; o.category == category && o.selects() {
			return o
		}
	}
	return nil
}

func (r *Reducer) modeOption() *configOption {
	return r.role(r.d.Modes.Option, EnumSessionConfigOptionCategoryMode)
}

func (r *Reducer) modelOption() *configOption {
	return r.role(r.d.ModelOption, EnumSessionConfigOptionCategoryModel)
}

func (r *Reducer) effortOption() *configOption {
	return r.role(r.d.EffortOption, EnumSessionConfigOptionCategoryThoughtLevel)
}

func (o *configOption) selects() bool { return len(o.values) > 0 }

func (o *configOption) offers(value string) bool {
	switch {
	case o.kind == EnumSessionConfigOptionTypeBoolean:
		return value == "true" || value == "false"
	case len(o.values) == 0:
		// A kind that is not known and lists nothing: the agent decides.
		return o.kind != EnumSessionConfigOptionTypeSelect
	}
	return hasChoice(o.values, value)
}

func hasChoice(list []abi.Choice, id string) bool {
	for i := range list {
		if list[i].ID == id {
			return true
		}
	}
	return false
}

// nativeMode, nativeModel and nativeEffort are what is in force as far as the agent
// has told.
func (r *Reducer) nativeMode() string {
	if o := r.modeOption(); o != nil {
		return o.current
	}
	return r.settings.mode
}

func (r *Reducer) nativeModel() string {
	if o := r.modelOption(); o != nil {
		return o.current
	}
	return r.settings.model
}

func (r *Reducer) nativeEffort() string {
	if o := r.effortOption(); o != nil {
		return o.current
	}
	return r.settings.effort
}

// readSession reads the settings in the answer to session/new, load or resume.
func (r *Reducer) readSession(result []byte) {
	var modes, models, options, meta []byte
	r.dec.Reset(result)
	EachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldModes:
			modes = d.Raw()
		case FieldModels:
			models = d.Raw()
		case FieldConfigOptions:
			options = d.Raw()
		case FieldMeta:
			meta = d.Raw()
		default:
			d.Skip()
		}
	})
	s := &r.settings
	if list := s.readOptions(options); len(list) > 0 {
		s.modern, s.options = true, list
	}
	if !s.modern {
		if m, current := s.readModes(modes); len(m) > 0 {
			s.modes, s.mode = m, current
		}
		if m, current := s.readModels(models, r.caps.images); len(m) > 0 {
			s.models, s.model = m, current
		}
	}
	if r.d.SessionMeta != nil && present(meta) {
		var left int
		s.efforts, s.effort, left = r.d.SessionMeta(meta)
		s.left += int64(left)
	}
}

// readOptions reads a whole list of config options. One that cannot be read is left
// out, as the schema's annotations ask.
func (s *settings) readOptions(raw []byte) (list []configOption) {
	var d jsonwire.Decoder
	b := lists.Bound{Keeps: true}
	d.Reset(raw)
	b.Each(&d, func(d *jsonwire.Decoder) {
		if o := readOption(d, &b); o.id != "" {
			list = append(list, o)
		}
	})
	s.left += int64(b.Left)
	return lists.Unique(list, func(o *configOption) string { return o.id })
}

func readOption(d *jsonwire.Decoder, b *lists.Bound) (o configOption) {
	EachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldID:
			o.id = d.String()
		case FieldName:
			o.name = d.String()
		case FieldDescription:
			o.description = d.String()
		case FieldCategory:
			o.category = d.String()
		case FieldType:
			o.kind = d.String()
		case FieldCurrentValue:
			switch d.Kind() {
			case jsonwire.String:
				o.current = d.String()
			case jsonwire.Null:
				d.Skip()
			default:
				o.current = string(d.Raw())
			}
		case FieldOptions:
			b.Each(d, func(d *jsonwire.Decoder) { o.values = readValue(d, "", o.values, b) })
		default:
			d.Skip()
		}
	})
	o.values = lists.Unique(o.values, func(c *abi.Choice) string { return c.ID })
	return o
}

// readValue reads a value of a select option, or a group of them.
func readValue(d *jsonwire.Decoder, group string, values []abi.Choice, b *lists.Bound) []abi.Choice {
	if d.Kind() == jsonwire.String {
		id := d.String()
		return append(values, abi.Choice{ID: id, Name: id, Description: group})
	}
	c := abi.Choice{Description: group}
	var inner []byte
	value := false
	EachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldValue:
			value = d.Kind() == jsonwire.String
			c.ID = d.String()
		case FieldName:
			c.Name = d.String()
		case FieldDescription:
			if t := d.String(); t != "" {
				c.Description = t
			}
		case FieldOptions:
			inner = d.Raw()
		default:
			d.Skip()
		}
	})
	if inner != nil {
		var in jsonwire.Decoder
		in.Reset(inner)
		b.Each(&in, func(in *jsonwire.Decoder) {
			if in.Kind() == jsonwire.Object || in.Kind() == jsonwire.String {
				values = readLeaf(in, c.Name, values, b)
			} else {
				in.Skip()
			}
		})
		return values
	}
	if !value {
		return values
	}
	return append(values, c)
}

// readLeaf reads a value inside a group; groups do not nest.
func readLeaf(d *jsonwire.Decoder, group string, values []abi.Choice, b *lists.Bound) []abi.Choice {
	raw := d.Raw()
	if present(Member(raw, FieldOptions)) {
		return values
	}
	var in jsonwire.Decoder
	in.Reset(raw)
	return readValue(&in, group, values, b)
}

func (s *settings) readModes(raw []byte) (modes []abi.ModeChoice, current string) {
	var d jsonwire.Decoder
	b := lists.Bound{Keeps: true}
	d.Reset(raw)
	EachKey(&d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldCurrentModeID:
			current = d.String()
		case FieldAvailableModes:
			b.Each(d, func(d *jsonwire.Decoder) {
				var m abi.ModeChoice
				EachKey(d, func(k []byte, d *jsonwire.Decoder) {
					switch string(k) {
					case FieldID:
						m.ID = d.String()
					case FieldName:
						m.Name = d.String()
					case FieldDescription:
						m.Description = d.String()
					default:
						d.Skip()
					}
				})
				if m.ID != "" {
					modes = append(modes, m)
				}
			})
		default:
			d.Skip()
		}
	})
	s.left += int64(b.Left)
	return modes, current
}

func (s *settings) readModels(raw []byte, images bool) (models []abi.ModelChoice, current string) {
	var d jsonwire.Decoder
	b := lists.Bound{Keeps: true}
	d.Reset(raw)
	EachKey(&d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldCurrentModelID:
			current = d.String()
		case FieldAvailableModels:
			b.Each(d, func(d *jsonwire.Decoder) {
				m := abi.ModelChoice{Images: images}
				EachKey(d, func(k []byte, d *jsonwire.Decoder) {
					switch string(k) {
					case FieldModelID:
						m.ID = d.String()
					case FieldName:
						m.Name = d.String()
					case FieldDescription:
						m.Description = d.String()
					default:
						d.Skip()
					}
				})
				if m.ID != "" {
					models = append(models, m)
				}
			})
		default:
			d.Skip()
		}
	})
	s.left += int64(b.Left)
	return models, current
}

// optionsNotified takes a whole list that the agent sent by itself. One of which
// nothing can be read says nothing (T3); an empty one says that there are no options.
func (r *Reducer) optionsNotified(raw []byte, out *guest.Effects) {
	list := r.settings.readOptions(raw)
	if len(list) == 0 && (!r.settings.modern || !emptyList(raw)) {
		return
	}
	r.settings.modern, r.settings.options = true, list
	r.settings.lists++
	r.changed(out)
}

func emptyList(raw []byte) bool {
	var d jsonwire.Decoder
	d.Reset(raw)
	return d.BeginArray() && !d.NextElem()
}

// modeNotified takes a mode that the agent says is in force.
func (r *Reducer) modeNotified(mode string, out *guest.Effects) {
	if mode == "" {
		return
	}
	r.settings.notices++
	if o := r.modeOption(); o != nil {
		o.current = mode
	} else if !r.settings.modern || len(r.d.Modes.Hidden) > 0 {
		r.settings.mode = mode
	}
	r.changed(out)
}

// changed tells what is new in force and goes on with what waited for it.
func (r *Reducer) changed(out *guest.Effects) {
	if r.phase != phaseReady {
		return
	}
	r.tellCatalog(out)
	r.observe(out)
	r.compareModel(out)
	r.evidence(out)
	r.mendAfterReview(out)
}

func (r *Reducer) tellCatalog(out *guest.Effects) {
	r.tellCut(out)
	c := r.catalog()
	if told := string(c.AppendJSON(nil)); told != r.told {
		r.told = told
		out.Catalog(&c)
	}
}

// tellCut warns of what was left out of the lists of settings since it was called last.
func (r *Reducer) tellCut(out *guest.Effects) {
	left := r.settings.left
	r.settings.left = 0
	r.cut("settings to choose from", int(left), out)
}

// cut warns of what was left out of a list that is too long.
func (r *Reducer) cut(what string, left int, out *guest.Effects) {
	if left > 0 {
		b := lists.Bound{Left: left}
		r.Warn(out, "list_too_long", r.d.Title+" lists too many "+what+". "+b.Told(""))
	}
}

// compareModel reports a model in force that is not the one the running turn was
// given: an option can be echoed as set and not be applied (P9, seen: the adapter
// 0.101.0 told another model only once the prompt ran).
func (r *Reducer) compareModel(out *guest.Effects) {
	t := r.cur
	if t == nil || t.model == "" {
		return
	}
	if now := r.nativeModel(); now != "" && now != t.model {
		r.problem(out, abi.Problem{Code: codeModelDiffers, Field: "model", Message: r.d.Title + " works with the model \"" + now + "\" instead of \"" + t.model + "\"."})
	} else {
		r.resolve(out, func(p *abi.Problem) bool { return p.Code == codeModelDiffers })
	}
}

const codeModelDiffers = "model_differs"

// observe reports what is in force when it is news.
func (r *Reducer) observe(out *guest.Effects) {
	native := r.nativeMode()
	o := abi.Observed{Model: r.nativeModel(), Effort: r.nativeEffort(), Native: native}
	o.Mode, o.Permission = r.meaning(native)
	mode, model, effort := r.modeOption(), r.modelOption(), r.effortOption()
	for i := range r.settings.options {
		c := &r.settings.options[i]
		if c != mode && c != model && c != effort {
			o.Options = append(o.Options, abi.OptionValue{ID: c.id, Value: c.current})
		}
	}
	if string(o.AppendJSON(nil)) == string(r.observed.AppendJSON(nil)) {
		return
	}
	r.observed = o
	out.Observed(&o)
}

// meaning is the mode and the permission that a native mode stands for. Where the
// host stands in for the running turn's permission, that is the one in force.
func (r *Reducer) meaning(native string) (string, abi.Permission) {
	m := &r.d.Modes
	if m.Execution.ID == "" {
		return native, r.standIn("")
	}
	if native == "" {
		return "", ""
	}
	if native == m.Planning {
		return native, ""
	}
	for i := range m.Permissions {
		if p := &m.Permissions[i]; p.Mode == native && p.Support == abi.SupportNative {
			if stood := r.standIn(native); stood != "" {
				return m.Execution.ID, stood
			}
			return m.Execution.ID, p.Permission
		}
	}
	return native, ""
}

// standIn is the running turn's permission if the host stands in for it.
func (r *Reducer) standIn(native string) abi.Permission {
	wished := abi.Permission("")
	switch {
	case r.cur != nil:
		wished = r.cur.permission
	case r.job != nil:
		wished = r.job.settings.Permission
	case r.own != nil:
		// Known only where it goes on from a review.
		wished = r.own.permission
	}
	p := r.permission(wished)
	if p == nil || p.Support != abi.SupportStandIn || native != "" && p.Mode != native {
		return ""
	}
	return p.Permission
}

func (r *Reducer) permission(p abi.Permission) *Permission {
	if p == "" {
		p = abi.PermissionDefault
	}
	for i := range r.d.Modes.Permissions {
		if r.d.Modes.Permissions[i].Permission == p {
			return &r.d.Modes.Permissions[i]
		}
	}
	return nil
}

// offeredModes lists the native modes that can be set.
func (r *Reducer) offeredModes() []abi.ModeChoice {
	if o := r.modeOption(); o != nil {
		list := make([]abi.ModeChoice, 0, len(o.values))
		for _, v := range o.values {
			list = append(list, abi.ModeChoice{ID: v.ID, Name: v.Name, Description: v.Description})
		}
		return list
	}
	if len(r.d.Modes.Hidden) > 0 {
		return r.d.Modes.Hidden
	}
	if r.settings.modern {
		return nil
	}
	return r.settings.modes
}

func (r *Reducer) offersMode(native string) bool {
	for _, m := range r.offeredModes() {
		if m.ID == native {
			return true
		}
	}
	return false
}

// catalog is what a person can choose from. Where mode and permission share one
// native axis, the modes that are permissions are listed as one execution mode.
func (r *Reducer) catalog() (c abi.Catalog) {
	m := &r.d.Modes
	modes := r.offeredModes()
	if m.Execution.ID == "" {
		c.Modes = modes
	} else {
		for _, n := range modes {
			switch {
			case n.ID == m.Planning:
				n.Meaning, n.EnforcedBy = abi.MeaningPlanning, m.EnforcedBy
				c.Modes = append(c.Modes, n)
			case !r.isPermission(n.ID):
				c.Modes = append(c.Modes, n)
			}
		}
		e := m.Execution
		e.Meaning, e.EnforcedBy = abi.MeaningExecution, abi.EnforcedByHarness
		c.Modes = append(c.Modes, e)
	}
	for i := range m.Permissions {
		p := &m.Permissions[i]
		choice := abi.PermissionChoice{Permission: p.Permission, Support: p.Support, Native: p.Describe}
		if p.Support == abi.SupportNative && !r.canPermit(p) {
			choice.Support, choice.Native = abi.SupportNone, r.d.Title+" does not offer it with this model or on this machine"
		}
		if p.Support == abi.SupportNone && p.InsteadOf != "" {
			choice.Native = p.InsteadOf
		}
		choice.Dormant = m.Planning != "" && choice.Support != abi.SupportNone
		c.Permissions = append(c.Permissions, choice)
	}
	c.Models, c.Efforts = r.models(), r.efforts()
	mode, model, effort := r.modeOption(), r.modelOption(), r.effortOption()
	for i := range r.settings.options {
		o := &r.settings.options[i]
		if o == mode || o == model || o == effort {
			continue
		}
		c.Options = append(c.Options, abi.OptionChoice{
			ID: o.id, Name: o.name, Description: o.description, Category: o.category,
			Boolean: o.kind == EnumSessionConfigOptionTypeBoolean, Values: o.values, Current: o.current, Applies: abi.AppliesNextTurn,
		})
	}
	return c
}

func (r *Reducer) isPermission(native string) bool {
	for i := range r.d.Modes.Permissions {
		if r.d.Modes.Permissions[i].Mode == native {
			return true
		}
	}
	return false
}

// canPermit reports whether a permission's native mode can be set. An agent without
// any modes has its own rules in force, which is the default permission.
func (r *Reducer) canPermit(p *Permission) bool {
	if p.Mode == "" {
		return true
	}
	if len(r.offeredModes()) == 0 {
		return p.Permission == abi.PermissionDefault
	}
	return r.offersMode(p.Mode)
}

func (r *Reducer) models() (list []abi.ModelChoice) {
	o := r.modelOption()
	if o == nil {
		for _, m := range r.settings.models {
			m.Default = m.ID != "" && m.ID == r.settings.base.model
			list = append(list, m)
		}
		return list
	}
	standard, _ := r.settings.base.role(o, r.settings.base.model)
	for _, v := range o.values {
		list = append(list, abi.ModelChoice{ID: v.ID, Name: v.Name, Description: v.Description, Images: r.caps.images, Default: standard != "" && v.ID == standard})
	}
	return list
}

// efforts are those of the model in force: agents rebuild the list with the model.
func (r *Reducer) efforts() []abi.Choice {
	if o := r.effortOption(); o != nil {
		return o.values
	}
	if r.d.EffortMeta != nil {
		return r.settings.efforts
	}
	return nil
}
