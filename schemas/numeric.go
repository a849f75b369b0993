package schemas

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// keywordNumber replaces "integer", minimum and maximum. jsonschema prints every
// number and reads it back as an exact fraction, which took most of the time of
// a token-usage notification.
const keywordNumber = "x-number"

// numberRange is the compiled keyword.
type numberRange struct {
	integer  bool
	min, max float64
}

// rewriteNumber moves the number keywords of s into keywordNumber, unless they
// say something the keyword cannot express: draft 4's boolean exclusive bounds,
// or a bound that float64 does not hold exactly.
func rewriteNumber(s map[string]any) {
	n := map[string]any{}
	switch t := s["type"].(type) {
	case string:
		if t == "integer" {
			s["type"] = "number"
			n["integer"] = true
		}
	case []any:
		isInteger, isNumber := -1, false
		for i, x := range t {
			switch x {
			case "integer":
				isInteger = i
			case "number":
				isNumber = true
			}
		}
		if isInteger >= 0 && !isNumber {
			t[isInteger] = "number"
			n["integer"] = true
		}
	}
	for _, k := range []string{"minimum", "maximum"} {
		if b, ok := s[k].(json.Number); ok {
			if i, err := strconv.ParseInt(string(b), 10, 64); err == nil && i > -1<<53 && i < 1<<53 {
				n[k] = b
				delete(s, k)
			}
		}
	}
	if len(n) > 0 {
		s[keywordNumber] = n
	}
}

// numberCompiler is the jsonschema extension for keywordNumber.
type numberCompiler struct{}

// Compile implements the jsonschema extension.
func (numberCompiler) Compile(_ jsonschema.CompilerContext, m map[string]any) (jsonschema.ExtSchema, error) {
	kw, ok := m[keywordNumber].(map[string]any)
	if !ok {
		return nil, nil
	}
	r := numberRange{min: math.Inf(-1), max: math.Inf(1)}
	_, r.integer = kw["integer"]
	if b, ok := kw["minimum"].(json.Number); ok {
		r.min, _ = b.Float64()
	}
	if b, ok := kw["maximum"].(json.Number); ok {
		r.max, _ = b.Float64()
	}
	return r, nil
}

// Validate implements the jsonschema extension.
func (r numberRange) Validate(ctx jsonschema.ValidationContext, v any) error {
	var f float64
	switch v := v.(type) {
	case int64:
		// The bounds are below 2^53, where the conversion keeps the order.
		f = float64(v)
	case float64:
		f = v
		if r.integer && f != math.Trunc(f) {
			return ctx.Error(keywordNumber, "expected integer, but got number")
		}
	default:
		return nil
	}
	if f < r.min {
		return ctx.Error(keywordNumber+"/minimum", "must be >= %v but found %v", r.min, f)
	}
	if f > r.max {
		return ctx.Error(keywordNumber+"/maximum", "must be <= %v but found %v", r.max, f)
	}
	return nil
}
