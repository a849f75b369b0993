package schemas

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Values of [Change.What].
const (
	ChangeMethodAdded   = "method_added"
	ChangeMethodRemoved = "method_removed"
	ChangeAdded         = "added"
	ChangeRemoved       = "removed"
	ChangeNowRequired   = "now_required"
	ChangeNowOptional   = "now_optional"
	ChangeType          = "type"
	ChangeValues        = "values"
	ChangeForms         = "forms"
	ChangeFormAdded     = "form_added"
	ChangeFormRemoved   = "form_removed"
	ChangeLimit         = "limit"
	ChangeStability     = "stability"
)

// Change is one difference between two versions of a method.
type Change struct {
	Method string `json:"method"`
	// Direction is the way the changed payload travels.
	Direction Direction `json:"direction"`
	Kind      Kind      `json:"kind"`
	// Path is where in the payload: members joined by dots, "[]" for elements,
	// "{}" for the members of a map, "(type=plan)" for one form of a union. It is
	// empty for the payload itself.
	Path string `json:"path,omitempty"`
	// What is one of the Change constants.
	What string `json:"what"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Breaking: a binding written for the old version may send what the new one
	// refuses or ignores, or receive what it does not know.
	Breaking bool `json:"breaking,omitempty"`
}

// Report is what a newer version of a provider changed.
type Report struct {
	Provider string   `json:"provider"`
	Old      string   `json:"old"`
	New      string   `json:"new"`
	Methods  int      `json:"methods"`
	Changes  []Change `json:"changes"`
}

// Breaking counts the breaking changes.
func (r Report) Breaking() int {
	n := 0
	for _, c := range r.Changes {
		if c.Breaking {
			n++
		}
	}
	return n
}

// Diff compares two versions of a provider for the named methods, or for all
// when methods is empty. A difference inside a shared definition is reported
// once a payload, at the first place that leads to it.
func Diff(old, new Bundle, methods []string) Report {
	r := Report{Provider: new.Provenance.Provider, Old: old.Provenance.Version, New: new.Provenance.Version, Changes: []Change{}}
	d := differ{report: &r, old: newViewer(&old), new: newViewer(&new)}
	keys := map[methodKey]bool{}
	for _, b := range []*Bundle{&old, &new} {
		for _, m := range b.Methods {
			if len(methods) == 0 || slices.Contains(methods, m.Name) {
				keys[methodKey{m.Name, m.Direction, m.Kind}] = true
			}
		}
	}
	sorted := make([]methodKey, 0, len(keys))
	for k := range keys {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, compareKeys)
	for _, k := range sorted {
		d.method(&old, &new, k)
	}
	r.Methods = len(sorted)
	return r
}

type differ struct {
	report   *Report
	old, new *viewer
	// at is the payload being compared, seen the pairs of definitions met in it.
	at   Change
	seen map[[2]string]bool
}

func (d *differ) method(old, new *Bundle, k methodKey) {
	o, inOld := old.Method(k.name, k.dir, k.kind)
	n, inNew := new.Method(k.name, k.dir, k.kind)
	d.at = Change{Method: k.name, Direction: k.dir, Kind: k.kind}
	switch {
	case !inOld:
		// A new notification or request of the provider may arrive unasked.
		d.note("", ChangeMethodAdded, "", "", k.dir == FromProvider)
		return
	case !inNew:
		d.note("", ChangeMethodRemoved, "", "", true)
		return
	}
	if o.Experimental != n.Experimental {
		d.note("", ChangeStability, stability(o), stability(n), n.Experimental)
	}
	if o.ParamsOptional != n.ParamsOptional {
		what := ChangeNowRequired
		if n.ParamsOptional {
			what = ChangeNowOptional
		}
		d.note("", what, "", "", (k.dir == ToProvider) != n.ParamsOptional)
	}
	d.payload(o.Params, n.Params)
	if k.kind == Request {
		d.at = Change{Method: k.name, Direction: k.dir.reverse(), Kind: Result}
		d.payload(o.Result, n.Result)
	}
}

func stability(m Method) string {
	if m.Experimental {
		return "experimental"
	}
	return "stable"
}

func (d *differ) payload(o, n json.RawMessage) {
	d.seen = map[[2]string]bool{}
	d.schema("", decodeSchema(o), decodeSchema(n))
}

func (d *differ) note(path, what, from, to string, breaking bool) {
	c := d.at
	c.Path, c.What, c.From, c.To, c.Breaking = path, what, from, to, breaking
	d.report.Changes = append(d.report.Changes, c)
}

// schema compares two schemas at the same place.
func (d *differ) schema(path string, o, n any) {
	pair := [2]string{d.old.referred(o), d.new.referred(n)}
	if pair[0] != "" && pair[1] != "" {
		if d.seen[pair] {
			return
		}
		d.seen[pair] = true
	}
	d.views(path, d.old.view(o), d.new.view(n))
}

func (d *differ) views(path string, o, n *view) {
	sends := d.at.Direction == ToProvider
	if gone, come := setDiff(o.types, n.types); len(gone)+len(come) > 0 {
		d.note(path, ChangeType, list(o.types), list(n.types), sends && len(gone) > 0 || !sends && len(come) > 0)
	}
	if gone, come := setDiff(o.values, n.values); len(gone)+len(come) > 0 {
		narrowed := len(gone) > 0 || len(o.values) == 0
		widened := len(come) > 0 && len(o.values) > 0 || len(n.values) == 0
		d.note(path, ChangeValues, strings.Join(gone, ", "), strings.Join(come, ", "), sends && narrowed || !sends && widened)
	}
	for _, k := range limitKeywords {
		if o.limits[k] != n.limits[k] {
			d.note(path, ChangeLimit, limit(k, o.limits[k]), limit(k, n.limits[k]), k != "format")
		}
	}
	for _, name := range unionKeys(o.props, n.props) {
		at := join(path, name)
		op, inOld := o.props[name]
		np, inNew := n.props[name]
		switch {
		case !inNew && d.new.inForms(n, name) || !inOld && d.old.inForms(o, name):
			// Told by the change of the forms below.
		case !inOld:
			d.note(at, ChangeAdded, "", need(n.required[name]), sends && n.required[name])
		case !inNew:
			d.note(at, ChangeRemoved, need(o.required[name]), "", true)
		default:
			if o.required[name] != n.required[name] {
				what := ChangeNowOptional
				if n.required[name] {
					what = ChangeNowRequired
				}
				d.note(at, what, "", "", sends == n.required[name])
			}
			d.schema(at, op, np)
		}
	}
	if o.items != nil && n.items != nil {
		d.schema(path+"[]", o.items, n.items)
	}
	if o.members != nil && n.members != nil {
		d.schema(path+"{}", o.members, n.members)
	}
	if (len(o.forms) == 0) != (len(n.forms) == 0) {
		d.note(path, ChangeForms, strings.Join(sortedKeys(o.forms), ", "), strings.Join(sortedKeys(n.forms), ", "), true)
		return
	}
	for _, label := range unionKeys(o.forms, n.forms) {
		of, inOld := o.forms[label]
		nf, inNew := n.forms[label]
		at := path + "(" + label + ")"
		switch {
		case !inOld:
			d.note(at, ChangeFormAdded, "", "", !sends)
		case !inNew:
			d.note(at, ChangeFormRemoved, "", "", sends)
		default:
			d.schema(at, of, nf)
		}
	}
}

func setDiff(o, n map[string]bool) (gone, come []string) {
	for _, v := range sortedKeys(o) {
		if !n[v] {
			gone = append(gone, v)
		}
	}
	for _, v := range sortedKeys(n) {
		if !o[v] {
			come = append(come, v)
		}
	}
	return gone, come
}

func unionKeys(a, b map[string]any) []string {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return sortedKeys(all)
}

func list(set map[string]bool) string {
	if len(set) == 0 {
		return "any"
	}
	return strings.Join(sortedKeys(set), " or ")
}

func limit(keyword, value string) string {
	if value == "" {
		return "no " + keyword
	}
	return keyword + " " + value
}

func need(required bool) string {
	if required {
		return "required"
	}
	return "optional"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Text writes the report for a person, breaking changes marked with "!".
func (r Report) Text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s → %s: %d of %d changes in %d methods may break a binding\n", r.Provider, r.Old, r.New, r.Breaking(), len(r.Changes), r.Methods)
	heading := ""
	for _, c := range r.Changes {
		if h := fmt.Sprintf("%s (%s, %s)", c.Method, c.Kind, strings.ReplaceAll(c.Direction.String(), "_", " ")); h != heading {
			heading = h
			fmt.Fprintf(&out, "\n%s\n", h)
		}
		mark := " "
		if c.Breaking {
			mark = "!"
		}
		fmt.Fprintf(&out, "  %s %s\n", mark, c.sentence())
	}
	return out.String()
}

func (c Change) sentence() string {
	path := c.Path
	if path == "" {
		path = "the payload"
	}
	switch c.What {
	case ChangeMethodAdded:
		return "the method is new"
	case ChangeMethodRemoved:
		return "the method is gone"
	case ChangeAdded:
		return path + ": new, " + c.To
	case ChangeRemoved:
		return path + ": gone, was " + c.From
	case ChangeNowRequired:
		return path + ": now required"
	case ChangeNowOptional:
		return path + ": now optional"
	case ChangeValues:
		var parts []string
		if c.To != "" {
			parts = append(parts, "new values "+c.To)
		}
		if c.From != "" {
			parts = append(parts, "no longer "+c.From)
		}
		return path + ": " + strings.Join(parts, "; ")
	case ChangeForms:
		if c.From == "" {
			return path + ": now comes in forms: " + c.To
		}
		return path + ": has one form now, had " + c.From
	case ChangeFormAdded:
		return path + ": new form"
	case ChangeFormRemoved:
		return path + ": form gone"
	case ChangeStability:
		return "the method was " + c.From + " and is " + c.To
	}
	return path + ": " + c.From + " → " + c.To
}
