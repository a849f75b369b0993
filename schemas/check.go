package schemas

import (
	"cmp"
	"errors"
	"strings"
)

func compareKeys(a, b methodKey) int {
	return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.dir, b.dir), cmp.Compare(a.kind, b.kind))
}

// Check checks one payload: the params of a request or notification, the result
// of a request. dir is the way this frame travels, so the result of a call of
// ours comes FromProvider; method is that of the request it answers. An empty
// payload means that the frame has no such member.
//
// It returns nil, a *[Violation], or an *[Error] of code [CodeSchemaInvalid] when
// the schema itself is broken. Frames to the provider are checked as the schema
// says. From frames of the provider members the schema does not know are
// accepted, because a provider newer than its schemas sends them. Error objects
// have no schema and always pass.
func (v *Validator) Check(dir Direction, kind Kind, method string, payload []byte) error {
	if kind == ErrorObject {
		return nil
	}
	k := methodKey{method, dir, kind}
	e, ok := v.methods[k]
	if !ok {
		return &Violation{Direction: dir, Kind: kind, Method: cut(method, maxQuote), Unknown: true}
	}
	if err := e.ready(k); err != nil {
		return err
	}
	if len(payload) == 0 {
		if e.optional {
			return nil
		}
		return &Violation{Direction: dir, Kind: kind, Method: method, Keyword: "required", Message: "the member " + memberOf(kind) + " is missing"}
	}
	if e.sch == nil {
		return nil
	}
	err := e.sch.check(payload)
	if err == nil {
		return nil
	}
	var broken *Error
	if errors.As(err, &broken) {
		return broken
	}
	vio := &Violation{Direction: dir, Kind: kind, Method: method}
	if ve, ok := asValidation(err); ok {
		vio.fill(ve)
	} else {
		vio.Keyword, vio.Message = "json", cut(err.Error(), maxMessage)
	}
	return vio
}

// Known reports whether the schemas have the method.
func (v *Validator) Known(dir Direction, kind Kind, method string) bool {
	_, ok := v.methods[methodKey{method, dir, kind}]
	return ok
}

func memberOf(k Kind) string {
	if k == Result {
		return `"result"`
	}
	return `"params"`
}
