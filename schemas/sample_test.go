package schemas_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"

	"github.com/aoagents/ao-host/schemas"
)

// sampler makes payloads that follow a schema, or nearly: at every place it errs
// with a small probability. So it comes into every branch of every union, which
// recordings do not.
type sampler struct {
	bundle  schemas.Bundle
	decoded map[string]any
	rnd     *rand.Rand
	// err is the chance, in percent, of a wrong value at one place.
	err int
}

func newSampler(b schemas.Bundle, seed uint64, err int) *sampler {
	return &sampler{bundle: b, decoded: map[string]any{}, rnd: rand.New(rand.NewPCG(seed, 1)), err: err}
}

// payload samples a definition and returns it as JSON.
func (s *sampler) payload(definition string) []byte {
	text, err := json.Marshal(s.value(map[string]any{"$ref": "#/definitions/" + definition}, 0))
	if err != nil {
		panic(err)
	}
	return text
}

func (s *sampler) value(schema any, depth int) any {
	if s.rnd.IntN(100) < s.err {
		return s.junk(depth)
	}
	m, ok := schema.(map[string]any)
	if !ok {
		return s.junk(depth)
	}
	if ref, ok := m["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/definitions/")
		if _, ok := s.decoded[name]; !ok {
			var v any
			if err := json.Unmarshal(s.bundle.Definitions[name], &v); err != nil {
				panic(err)
			}
			s.decoded[name] = v
		}
		return s.value(s.decoded[name], depth+1)
	}
	var parts []any
	for _, k := range []string{"anyOf", "oneOf"} {
		if list, ok := m[k].([]any); ok {
			if depth > 12 {
				// The last branch is null where there is one: come to an end.
				parts = append(parts, s.value(list[len(list)-1], depth+1))
			} else {
				parts = append(parts, s.value(list[s.rnd.IntN(len(list))], depth+1))
			}
		}
	}
	if list, ok := m["allOf"].([]any); ok {
		for _, sub := range list {
			parts = append(parts, s.value(sub, depth+1))
		}
	}
	if m["properties"] == nil && m["type"] == nil && len(parts) > 0 {
		return parts[0]
	}
	if enum, ok := m["enum"].([]any); ok {
		return enum[s.rnd.IntN(len(enum))]
	}
	if c, ok := m["const"]; ok {
		return c
	}
	kind, _ := m["type"].(string)
	if list, ok := m["type"].([]any); ok {
		kind = list[s.rnd.IntN(len(list))].(string)
	}
	switch kind {
	case "null":
		return nil
	case "boolean":
		return s.rnd.IntN(2) == 0
	case "integer", "number":
		return []any{0, 1, 7, 1 << 40, 1795998656847}[s.rnd.IntN(5)]
	case "string":
		return []string{"x", "text", strings.Repeat("long ", 40)}[s.rnd.IntN(3)]
	case "array":
		out := []any{}
		for range s.rnd.IntN(3) {
			if depth < 14 {
				out = append(out, s.value(m["items"], depth+1))
			}
		}
		return out
	case "object", "":
		out := map[string]any{}
		for _, p := range parts {
			if o, ok := p.(map[string]any); ok {
				for k, v := range o {
					out[k] = v
				}
			}
		}
		required := map[string]bool{}
		list, _ := m["required"].([]any)
		for _, r := range list {
			required[r.(string)] = true
		}
		props, _ := m["properties"].(map[string]any)
		for _, name := range keys(props) {
			if required[name] && s.rnd.IntN(100) >= s.err || !required[name] && depth < 10 && s.rnd.IntN(3) == 0 {
				out[name] = s.value(props[name], depth+1)
			}
		}
		if members, ok := m["additionalProperties"].(map[string]any); ok && depth < 10 {
			out["some key"] = s.value(members, depth+1)
		}
		// Only a closed object minds, so it gets one more often.
		if odds := s.err; s.rnd.IntN(100) < odds || odds > 0 && m["additionalProperties"] == false && s.rnd.IntN(3) == 0 {
			out["extra"] = s.junk(depth)
		}
		return out
	}
	return s.junk(depth)
}

func (s *sampler) junk(depth int) any {
	all := []any{
		nil, true, 0, -1, 1.5, "", "junk", strings.Repeat("é", 300), []any{}, []any{"x"}, map[string]any{},
		map[string]any{"type": "text"}, map[string]any{"type": "junk"}, map[string]any{"type": 5}, 1e300, -(1 << 62),
	}
	return all[s.rnd.IntN(len(all))]
}

func keys(m map[string]any) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	// A fixed order, so that a seed gives the same payload.
	for i := range out {
		for j := i + 1; j < len(out); j++ {
			if out[j] < out[i] {
				out[i], out[j] = out[j], out[i]
			}
		}
	}
	return out
}
