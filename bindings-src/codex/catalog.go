package codex

import (
	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/lists"
)

// maxModelPages bounds a server that never ends its list.
const maxModelPages = 64

// readModels reads one page and asks for the next; it reports whether it did.
func (r *Reducer) readModels(result []byte, out *guest.Effects) bool {
	if r.phase != phaseReading {
		return false
	}
	next := ""
	b := lists.Bound{Keeps: true, Bytes: int(r.modelBytes)}
	r.dec.Reset(result)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldData:
			b.Each(d, func(d *jsonwire.Decoder) {
				if m := readModel(d, &b); m.ID != "" {
					r.models = append(r.models, m)
				}
			})
		case FieldNextCursor:
			next = d.String()
		default:
			d.Skip()
		}
	})
	r.models = lists.Unique(r.models, func(m *abi.ModelChoice) string { return m.ID })
	r.modelBytes = int64(b.Bytes)
	r.cut("models", &b, out)
	if r.modelPages++; next == "" || r.modelPages >= maxModelPages || b.Left > 0 {
		return false
	}
	r.callModels(next, out)
	return true
}

// cut warns of what was left out of a list that is too long to be kept.
func (r *Reducer) cut(what string, b *lists.Bound, out *guest.Effects) {
	if b.Left > 0 {
		r.warn(out, "list_too_long", "Codex lists too many "+what+". "+b.Told(""))
	}
}

// readModel reads one model. Its id is the slug that turn/start takes and
// thread/settings/updated reports, not the id of the picker's entry.
func readModel(d *jsonwire.Decoder, b *lists.Bound) (m abi.ModelChoice) {
	entry := ""
	// Older servers do not tell modalities; all their models take images.
	m.Images = true
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldID:
			entry = d.String()
		case FieldModel:
			m.ID = d.String()
		case FieldDisplayName:
			m.Name = d.String()
		case FieldDescription:
			m.Description = d.String()
		case FieldHidden:
			m.Hidden = d.Bool()
		case FieldIsDefault:
			m.Default = d.Bool()
		case FieldDefaultReasoningEffort:
			m.DefaultEffort = d.String()
		case FieldInputModalities:
			if d.Kind() != jsonwire.Array {
				d.Skip()
				return
			}
			m.Images = false
			for ok := d.BeginArray(); ok && d.NextElem(); {
				if string(d.Bytes()) == EnumInputModalityImage {
					m.Images = true
				}
			}
		case FieldSupportedReasoningEfforts:
			b.Each(d, func(d *jsonwire.Decoder) {
				if e := readEffort(d); e.ID != "" {
					m.Efforts = append(m.Efforts, e)
				}
			})
		default:
			d.Skip()
		}
	})
	if m.ID == "" {
		m.ID = entry
	}
	return m
}

func readEffort(d *jsonwire.Decoder) (e abi.Choice) {
	eachKey(d, func(k []byte, d *jsonwire.Decoder) {
		switch string(k) {
		case FieldReasoningEffort:
			e.ID = d.String()
		case FieldDescription:
			e.Description = d.String()
		default:
			d.Skip()
		}
	})
	return e
}

// readModes reads the collaboration modes. Only the two that are known get a
// meaning; others stay usable (vocabulary "Mode").
func (r *Reducer) readModes(result []byte, out *guest.Effects) {
	b := lists.Bound{Keeps: true}
	r.dec.Reset(result)
	eachKey(&r.dec, func(k []byte, d *jsonwire.Decoder) {
		if string(k) != FieldData {
			d.Skip()
			return
		}
		b.Each(d, func(d *jsonwire.Decoder) {
			var m abi.ModeChoice
			model := ""
			eachKey(d, func(k []byte, d *jsonwire.Decoder) {
				switch string(k) {
				case FieldMode:
					m.ID = d.String()
				case FieldName:
					m.Name = d.String()
				case FieldModel:
					model = d.String()
				case FieldReasoningEffortSnake:
					m.DefaultEffort = d.String()
				default:
					d.Skip()
				}
			})
			if m.ID == "" {
				return
			}
			switch m.ID {
			case EnumModeKindPlan:
				m.Meaning, m.EnforcedBy = abi.MeaningPlanning, abi.EnforcedByHarness
				m.Description = "Explores and proposes a plan before anything is changed."
			case EnumModeKindDefault:
				m.Meaning, m.EnforcedBy = abi.MeaningExecution, abi.EnforcedByHarness
				m.Description = "Does the work."
			}
			r.modes = append(r.modes, m)
			r.presets = append(r.presets, preset{mode: m.ID, model: model})
		})
	})
	// What is told of a mode again changes nothing.
	r.modes = lists.Unique(r.modes, func(m *abi.ModeChoice) string { return m.ID })
	r.presets = lists.Unique(r.presets, func(p *preset) string { return p.mode })
	r.cut("working modes", &b, out)
}

func (r *Reducer) mode(id string) *abi.ModeChoice {
	for i := range r.modes {
		if r.modes[i].ID == id {
			return &r.modes[i]
		}
	}
	return nil
}

func (r *Reducer) model(id string) *abi.ModelChoice {
	for i := range r.models {
		if r.models[i].ID == id {
			return &r.models[i]
		}
	}
	return nil
}

func hasEffort(m *abi.ModelChoice, effort string) bool {
	for i := range m.Efforts {
		if m.Efforts[i].ID == effort {
			return true
		}
	}
	return false
}

// catalog is what a person can choose from. The default model is the one this
// configuration uses, whatever the provider recommends; it is listed even when
// the provider's list does not know it (a custom provider).
func (r *Reducer) catalog() abi.Catalog {
	c := abi.Catalog{Modes: r.modes, Permissions: r.permissionChoices()}
	c.Models = append(c.Models, r.models...)
	configured := r.baseline.model
	if configured == "" {
		return c
	}
	listed := false
	for i := range c.Models {
		c.Models[i].Default = c.Models[i].ID == configured
		listed = listed || c.Models[i].Default
	}
	if !listed {
		c.Models = append(c.Models, abi.ModelChoice{
			ID: configured, Name: configured, Default: true, Images: true,
			Description: "Configured; the provider's list does not describe it.",
		})
	}
	return c
}
