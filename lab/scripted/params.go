package scripted

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// params reads a request's members and keeps the first thing that is wrong, in the words
// of the real harness (serde's).
type params struct {
	members map[string]json.RawMessage
	err     *RPCError
}

func readParams(raw json.RawMessage) *params {
	p := &params{}
	switch {
	case raw == nil:
		p.err = invalid("missing field `params`")
	case json.Unmarshal(raw, &p.members) != nil:
		p.err = invalid("invalid type: %s, expected a map", describe(raw))
	}
	return p
}

func (p *params) failed(e *RPCError) {
	if p.err == nil {
		p.err = e
	}
}

// has says whether a member is there and not null.
func (p *params) has(name string) bool {
	raw, ok := p.members[name]
	return ok && string(bytes.TrimSpace(raw)) != "null"
}

// str reads an optional text; ok says whether it is there.
func (p *params) str(name string) (value string, ok bool) {
	if !p.has(name) {
		return "", false
	}
	if json.Unmarshal(p.members[name], &value) != nil {
		p.failed(invalid("invalid type: %s, expected a string", describe(p.members[name])))
		return "", false
	}
	return value, true
}

// need reads a required text.
func (p *params) need(name string) string {
	value, ok := p.str(name)
	if !ok {
		p.failed(p.absent(name, "a string"))
	}
	return value
}

func (p *params) absent(name, kind string) *RPCError {
	if raw, there := p.members[name]; there {
		return invalid("invalid type: %s, expected %s", describe(raw), kind)
	}
	return invalid("missing field `%s`", name)
}

// enum reads an optional text out of a fixed set.
func (p *params) enum(name string, values ...string) (string, bool) {
	value, ok := p.str(name)
	if ok && !slices.Contains(values, value) {
		p.failed(unknownVariant(value, values))
		return "", false
	}
	return value, ok
}

func unknownVariant(value string, values []string) *RPCError {
	return invalid("unknown variant `%s`, expected one of `%s`", value, strings.Join(values, "`, `"))
}

func (p *params) flag(name string) bool {
	var value bool
	if p.has(name) && json.Unmarshal(p.members[name], &value) != nil {
		p.failed(invalid("invalid type: %s, expected a boolean", describe(p.members[name])))
	}
	return value
}

// limit reads an optional page size.
func (p *params) limit(name string, fallback int) int {
	if !p.has(name) {
		return fallback
	}
	var value uint32
	if json.Unmarshal(p.members[name], &value) != nil {
		p.failed(invalid("invalid type: %s, expected u32", describe(p.members[name])))
	}
	return max(1, int(value))
}

// object reads an optional object as params of its own; errors come back to p.
func (p *params) object(name string) *params {
	if !p.has(name) {
		return nil
	}
	inner := &params{}
	if json.Unmarshal(p.members[name], &inner.members) != nil {
		p.failed(invalid("invalid type: %s, expected a map", describe(p.members[name])))
		return nil
	}
	return inner
}

// list reads a required list.
func (p *params) list(name string) []json.RawMessage {
	if !p.has(name) {
		p.failed(p.absent(name, "a sequence"))
		return nil
	}
	var values []json.RawMessage
	if json.Unmarshal(p.members[name], &values) != nil {
		p.failed(invalid("invalid type: %s, expected a sequence", describe(p.members[name])))
	}
	return values
}

// describe names a value as serde does.
func describe(raw json.RawMessage) string {
	text := string(bytes.TrimSpace(raw))
	switch {
	case text == "null":
		return "null"
	case text == "true" || text == "false":
		return "boolean `" + text + "`"
	case strings.HasPrefix(text, `"`):
		return "string " + text
	case strings.HasPrefix(text, "["):
		return "sequence"
	case strings.HasPrefix(text, "{"):
		return "map"
	case strings.ContainsAny(text, ".eE"):
		return "floating point `" + text + "`"
	default:
		return "integer `" + text + "`"
	}
}
