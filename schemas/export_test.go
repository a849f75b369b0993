package schemas

import (
	"encoding/json"
	"testing"
)

// Verdicts compiles one definition of a bundle, as it is and accelerated, and
// returns a function that gives both verdicts on a payload. The tests make sure
// that they never differ.
func Verdicts(t testing.TB, b Bundle, definition string, lenient bool) func(payload []byte) (plain, fast error) {
	t.Helper()
	f, err := TryVerdicts(b, definition, lenient)
	if err != nil {
		t.Fatalf("%s: %v", definition, err)
	}
	return f
}

// TryVerdicts is [Verdicts] for a definition that may not compile.
func TryVerdicts(b Bundle, definition string, lenient bool) (func(payload []byte) (plain, fast error), error) {
	draft, err := findDialect(b.Dialect)
	if err != nil {
		return nil, err
	}
	ref, err := json.Marshal(map[string]string{"$ref": refPrefix + definition})
	if err != nil {
		return nil, err
	}
	var both [2]*checked
	for i, plain := range []bool{true, false} {
		if both[i], err = newCompiler(b.Definitions, draft, lenient, plain).compile(ref); err != nil {
			return nil, err
		}
	}
	return func(payload []byte) (error, error) { return both[0].check(payload), both[1].check(payload) }, nil
}

// PlainValidator is a validator that uses neither dispatch nor number keywords.
func PlainValidator(t testing.TB, b Bundle) *Validator {
	t.Helper()
	v, err := newValidator(&b, true)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Exports for tests.
var (
	CompareVersions = compareVersions
	Digest          = digest
	NormaliseSchema = func(v any) any { return normaliseSchema(v, func(ref string) string { return ref }) }
	DecodeValue     = func(keep int, payload []byte) (any, error) {
		return (&vocabulary{known: map[string]any{}, keep: keep}).decode(payload)
	}
)
