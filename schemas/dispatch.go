package schemas

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// keywordDispatch replaces anyOf and oneOf. jsonschema tries every branch of a
// union and builds the errors of those that fail; with 87 kinds of notification
// or 20 kinds of item nearly all of that is thrown away. The branches move into
// this keyword, and only those whose [facts] the value meets are tried.
//
// The verdict is the same: a branch that is left out cannot accept the value.
const keywordDispatch = "x-dispatch"

// dispatch is one compiled union.
type dispatch struct {
	// exactlyOne: oneOf rather than anyOf.
	exactlyOne bool
	facts      []facts
	branches   []*jsonschema.Schema
	paths      []string
	// on is the discriminating member, "" when there is none.
	on string
	// tagged are the branches for a value of on; untagged those that accept
	// objects and say nothing about on.
	tagged   map[string][]int
	untagged []int
	// byType are the branches that accept a type at all, by bit number.
	byType [6][]int
}

// dispatchTable connects a rewritten schema, which carries a number, with the
// facts found while rewriting it. It is the jsonschema extension.
type dispatchTable struct {
	unions []*dispatch
}

// rewrite moves the branches of a union into keywordDispatch.
func (t *dispatchTable) rewrite(keyword string, branches []any, a analyst) map[string]any {
	d := &dispatch{exactlyOne: keyword == "oneOf"}
	for _, b := range branches {
		d.facts = append(d.facts, a.facts(b, 0))
	}
	d.on = discriminator(d.facts)
	d.tagged = map[string][]int{}
	for i := range d.facts {
		f := &d.facts[i]
		for bit := range d.byType {
			if f.types&(typeMask(1)<<bit) != 0 {
				d.byType[bit] = append(d.byType[bit], i)
			}
		}
		if f.types&maskObject == 0 {
			continue
		}
		if values, ok := f.tags[d.on]; ok {
			for v := range values {
				d.tagged[v] = append(d.tagged[v], i)
			}
		} else {
			d.untagged = append(d.untagged, i)
		}
	}
	t.unions = append(t.unions, d)
	return map[string]any{"id": strconv.Itoa(len(t.unions) - 1), "branches": branches}
}

// Compile implements the jsonschema extension.
func (t *dispatchTable) Compile(ctx jsonschema.CompilerContext, m map[string]any) (jsonschema.ExtSchema, error) {
	kw, ok := m[keywordDispatch].(map[string]any)
	if !ok {
		return nil, nil
	}
	id, err := strconv.Atoi(fmt.Sprint(kw["id"]))
	if err != nil || id < 0 || id >= len(t.unions) {
		return nil, fmt.Errorf("schemas: no union %v", kw["id"])
	}
	d := t.unions[id]
	d.branches, d.paths = make([]*jsonschema.Schema, len(d.facts)), make([]string, len(d.facts))
	for i := range d.branches {
		d.paths[i] = keywordDispatch + "/branches/" + strconv.Itoa(i)
		if d.branches[i], err = ctx.Compile(d.paths[i], true); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Validate implements the jsonschema extension.
func (d *dispatch) Validate(ctx jsonschema.ValidationContext, v any) error {
	var first, second []int
	tag, tagged := "", false
	all := d.byType[bits.TrailingZeros8(uint8(maskOf(v)))]
	if o, ok := v.(map[string]any); ok {
		if d.on != "" {
			if tag, tagged = o[d.on].(string); tagged {
				first = d.tagged[tag]
			}
		}
		second = d.untagged
	} else {
		first = all
	}
	switch len(first) + len(second) {
	case 0:
		if len(all) == 1 {
			return d.try(ctx, all[0], v)
		}
		return d.noBranch(ctx, v, tag, tagged)
	case 1:
		// The one branch that may be meant also says best what is wrong.
		if len(first) == 1 {
			return d.try(ctx, first[0], v)
		}
		return d.try(ctx, second[0], v)
	}
	only, n := -1, 0
	for _, list := range [2][]int{first, second} {
		for _, i := range list {
			if d.facts[i].admits(v) {
				only = i
				n++
			}
		}
	}
	switch n {
	case 0:
		return d.noBranch(ctx, v, tag, tagged && len(first) == 0)
	case 1:
		return d.try(ctx, only, v)
	}
	matched := 0
	var causes []error
	for _, list := range [2][]int{first, second} {
		for _, i := range list {
			if !d.facts[i].admits(v) {
				continue
			}
			if err := d.try(ctx, i, v); err != nil {
				causes = append(causes, err)
			} else {
				matched++
			}
		}
	}
	switch {
	case matched == 0:
		return jsonschema.ValidationError{}.Group(ctx.Error(keywordDispatch, "fits none of the allowed forms"), causes...)
	case matched > 1 && d.exactlyOne:
		return ctx.Error(keywordDispatch, "fits %d of the allowed forms where exactly one may fit", matched)
	}
	return nil
}

func (d *dispatch) try(ctx jsonschema.ValidationContext, i int, v any) error {
	return ctx.Validate(d.branches[i], d.paths[i], v, "")
}

// noBranch says why no branch can accept v.
func (d *dispatch) noBranch(ctx jsonschema.ValidationContext, v any, tag string, unknownTag bool) error {
	switch v := v.(type) {
	case map[string]any:
		if unknownTag {
			return ctx.Error(keywordDispatch, "unknown %s %s", d.on, strconv.Quote(cut(tag, maxQuote/2)))
		}
		if d.on != "" && len(d.untagged) == 0 {
			return ctx.Error(keywordDispatch, "the member %q that tells the form is missing or no string", d.on)
		}
	case string:
		return ctx.Error(keywordDispatch, "unknown value %s", strconv.Quote(cut(v, maxQuote/2)))
	default:
		var types typeMask
		for i := range d.facts {
			types |= d.facts[i].types
		}
		if types&maskOf(v) == 0 {
			return ctx.Error(keywordDispatch, "expected %s, but got %s", types, maskOf(v))
		}
	}
	return ctx.Error(keywordDispatch, "fits none of the allowed forms")
}

// String lists the types.
func (m typeMask) String() string {
	var names []string
	for _, n := range []string{"null", "boolean", "number", "string", "array", "object"} {
		if m&typeMasks[n] != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, " or ")
}
