package scripted

import (
	"encoding/json"
	"slices"
)

// catalogOf reads a profile's own options.
func catalogOf(profile string) []ACPOption {
	var all map[string][]ACPOption
	if err := json.Unmarshal(acpCatalogs, &all); err != nil { // a test reads it
		panic(err)
	}
	return all[profile]
}

// value is the current value of an option as text; empty when it is not offered.
func (s *session) value(id string) string {
	for _, o := range s.offered() {
		if o.ID == id {
			return plain(s.config[id])
		}
	}
	return ""
}

// plain is a JSON text without its quotes, or any other value as it stands.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// offered are the options and choices there are with the current model.
func (s *session) offered() []ACPOption {
	model := plain(s.config["model"])
	with := func(models []string) bool { return models == nil || slices.Contains(models, model) }
	var out []ACPOption
	for _, o := range s.a.options {
		if !with(o.Models) {
			continue
		}
		values := o.Values
		o.Values = nil
		for _, v := range values {
			if with(v.Models) {
				o.Values = append(o.Values, v)
			}
		}
		out = append(out, o)
	}
	return out
}

func (o *ACPOption) isSelect() bool { return o.Type == "" || o.Type == "select" }

func (o *ACPOption) offers(value string) bool {
	return slices.ContainsFunc(o.Values, func(v ACPValue) bool { return v.Value == value })
}

// What is wrong with a setting.
const (
	wrongOption = "option" // not offered
	wrongValue  = "value"  // the option does not take it
	wrongBusy   = "busy"   // not while a prompt runs
)

// change sets an option and what depends on it.
func (s *session) change(id string, value json.RawMessage) *RPCError {
	options := s.offered()
	at := slices.IndexFunc(options, func(o ACPOption) bool { return o.ID == id })
	if at < 0 {
		return s.a.dialect.settingError(wrongOption, id, plain(value))
	}
	o := options[at]
	var flag bool
	switch {
	case o.isSelect() && !o.offers(plain(value)),
		o.Type == "boolean" && json.Unmarshal(value, &flag) != nil:
		return s.a.dialect.settingError(wrongValue, id, plain(value))
	case s.running != nil && s.a.dialect.fixedWhileRunning(id):
		return s.a.dialect.settingError(wrongBusy, id, plain(value))
	}
	s.config[id] = value
	for _, o := range s.offered() { // another model may not have the choice
		if o.isSelect() && !o.offers(plain(s.config[o.ID])) && len(o.Values) > 0 {
			s.config[o.ID] = o.Default
			if !o.offers(plain(o.Default)) {
				s.config[o.ID] = encode(o.Values[0].Value)
			}
		}
	}
	s.saved(sessionRecord{Config: s.config})
	return nil
}

// configOptions are the options as the wire has them.
func (s *session) configOptions() []any {
	out := []any{}
	for _, o := range s.offered() {
		w := object{"id": o.ID, "name": orText(o.Name, o.ID), "type": orText(o.Type, "select"), "currentValue": s.config[o.ID]}
		if o.Description != "" {
			w["description"] = o.Description
		}
		if o.Category != "" {
			w["category"] = o.Category
		}
		if len(o.Values) > 0 {
			w["options"] = choices(o.Values)
		}
		out = append(out, w)
	}
	return out
}

// choices are a flat list, or groups when the choices have some.
func choices(values []ACPValue) []any {
	var out []any
	groups := map[string]object{}
	for _, v := range values {
		w := object{"value": v.Value, "name": orText(v.Name, v.Value)}
		if v.Description != "" {
			w["description"] = v.Description
		}
		if v.Group == "" {
			out = append(out, w)
			continue
		}
		g := groups[v.Group]
		if g == nil {
			g = object{"group": v.Group, "name": v.Group, "options": []any{}}
			groups[v.Group] = g
			out = append(out, g)
		}
		g["options"] = append(g["options"].([]any), w)
	}
	return out
}

// legacyModes are the choices of an option as modes.
func (s *session) legacyModes(option string) object {
	modes := []any{}
	for _, o := range s.offered() {
		if o.ID != option {
			continue
		}
		for _, v := range o.Values {
			m := object{"id": v.Value, "name": orText(v.Name, v.Value)}
			if v.Description != "" {
				m["description"] = v.Description
			}
			modes = append(modes, m)
		}
	}
	return object{"currentModeId": s.value(option), "availableModes": modes}
}

// legacyModels are the choices of the option "model" as models.
func (s *session) legacyModels() object {
	models := []any{}
	for _, o := range s.offered() {
		if o.ID != "model" {
			continue
		}
		for _, v := range o.Values {
			m := object{"modelId": v.Value, "name": orText(v.Name, v.Value)}
			if v.Description != "" {
				m["description"] = v.Description
			}
			if v.Meta != nil {
				m["_meta"] = v.Meta
			}
			models = append(models, m)
		}
	}
	return object{"currentModelId": s.value("model"), "availableModels": models}
}

func orText(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// setter says how the script wants a setting answered.
func (a *ACP) setter(option string) string {
	if how := a.script.Behaviour.Setters[option]; how != "" {
		return how
	}
	return a.script.Behaviour.Setters["*"]
}

func (a *ACP) setConfigOption(id json.RawMessage, p *acpParams) {
	var in struct {
		SessionID string          `json:"sessionId"`
		ConfigID  string          `json:"configId"`
		Value     json.RawMessage `json:"value"`
	}
	if missing := p.read(&in, "sessionId", "configId", "value"); missing != nil {
		a.out.fail(id, a.dialect.invalid(missing, p.raw))
		return
	}
	s := a.find(id, "session/set_config_option", in.SessionID)
	if s == nil {
		return
	}
	how := a.setter(in.ConfigID)
	if a.unchanged(id, how) {
		return
	}
	a.mu.Lock()
	before := s.configOptions()
	e := s.change(in.ConfigID, in.Value)
	after := s.configOptions()
	a.mu.Unlock()
	switch {
	case e != nil:
		a.out.fail(id, e)
		return
	case how == setLate:
		a.update(s.id, object{"sessionUpdate": "config_option_update", "configOptions": after})
		after = before
	case how != setSilent:
		a.dialect.optionChanged(s, in.ConfigID, plain(in.Value))
	}
	a.out.result(id, object{"configOptions": after})
}

// unchanged answers, or does not answer, a setter that changes nothing.
func (a *ACP) unchanged(id json.RawMessage, how string) bool {
	switch how {
	case setIgnored:
		a.out.result(id, object{})
	case setRefused:
		a.out.fail(id, &RPCError{Code: -32603, Message: "Internal error", Data: encode(object{"details": "The setting was refused."})})
	case setNever:
	default:
		return false
	}
	return true
}

func (a *ACP) setMode(id json.RawMessage, p *acpParams) {
	var in struct {
		SessionID string `json:"sessionId"`
		ModeID    string `json:"modeId"`
	}
	if missing := p.read(&in, "sessionId", "modeId"); missing != nil {
		a.out.fail(id, a.dialect.invalid(missing, p.raw))
		return
	}
	s := a.find(id, "session/set_mode", in.SessionID)
	if s == nil {
		return
	}
	how := a.setter("mode")
	if a.unchanged(id, how) {
		return
	}
	a.mu.Lock()
	e := a.dialect.changeMode(s, in.ModeID)
	a.mu.Unlock()
	switch {
	case e != nil:
		a.out.fail(id, e)
	case how == setSilent:
		a.out.result(id, object{})
	default:
		a.dialect.modeChanged(s, in.ModeID, func() { a.out.result(id, object{}) })
	}
}

func (a *ACP) setModel(id json.RawMessage, p *acpParams) {
	var in struct {
		SessionID string `json:"sessionId"`
		ModelID   string `json:"modelId"`
		Meta      struct {
			Effort string `json:"reasoningEffort"`
		} `json:"_meta"`
	}
	if missing := p.read(&in, "sessionId", "modelId"); missing != nil {
		a.out.fail(id, a.dialect.invalid(missing, p.raw))
		return
	}
	s := a.find(id, "session/set_model", in.SessionID)
	if s == nil || a.unchanged(id, a.setter("model")) {
		return
	}
	a.mu.Lock()
	e := s.change("model", encode(in.ModelID))
	if e == nil && in.Meta.Effort != "" {
		e = s.change("effort", encode(in.Meta.Effort))
	}
	a.mu.Unlock()
	if e != nil {
		a.out.fail(id, e)
		return
	}
	a.out.result(id, a.dialect.modelChanged(s))
}
