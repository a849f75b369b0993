package schemas

// Annotations by which the Agent Client Protocol asks for lenient reading. A
// reader that follows them never sees the value that does not fit, so on the way
// in such a value is no violation. On the way out they mean nothing: what is sent
// must fit.
const (
	// A value that does not fit is read as the member's default.
	annotationDefaultOnError = "x-deserialize-default-on-error"
	// An element of the array that does not fit is left out.
	annotationSkipItems = "x-deserialize-skip-invalid-items"
	// A null is read as the member's default.
	annotationDefaultOnNull = "x-deserialize-default-on-null"
)

// forgive applies the annotations of a schema. all: every value is to be
// accepted; orNull: null is to be accepted beside what the schema says. Whether
// the member may be missing is not theirs to say: that is "required".
func forgive(s map[string]any) (orNull, all bool) {
	if s[annotationDefaultOnError] == true {
		return false, true
	}
	if s[annotationSkipItems] == true {
		delete(s, "items")
		delete(s, "prefixItems")
	}
	return s[annotationDefaultOnNull] == true, false
}

func nullable(s map[string]any, orNull bool) map[string]any {
	if !orNull {
		return s
	}
	return map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
}

// exact reports whether the lenient form of a schema accepts what the schema
// accepts and nothing more, so that it may be kept where it is negated. ACP
// negates the constants of the other branches to keep a catch-all branch apart.
func exact(v any) bool {
	if v == nil {
		return true
	}
	same := true
	walkSchemas(v, func(s map[string]any) {
		for _, k := range []string{
			"$ref", "else", "if", "not", "oneOf", "then", "unevaluatedItems", "unevaluatedProperties",
			annotationDefaultOnError, annotationDefaultOnNull, annotationSkipItems,
		} {
			if _, ok := s[k]; ok {
				same = false
			}
		}
		if s["additionalProperties"] == false {
			same = false
		}
	})
	return same
}
