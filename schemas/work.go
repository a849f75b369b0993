package schemas

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// keywordWork marks every schema that applies more than one schema to the same
// value. Only through those can checking take more work than the payload is
// long: two branches that each descend into the same member double it with every
// level of nesting, and the schemas may be a stranger's.
const keywordWork = "x-work"

// Work a check may do: visits of marked schemas.
const (
	workBase    = 10_000
	workPerByte = 16
)

// errWork ends a check that does too much.
var errWork = errors.New("the schema needs more work than the payload is worth")

// meter bounds the work of checks. Concurrent checks share one pool, because
// jsonschema gives an extension no place for a check's own state; the pool is
// emptied whenever no check runs, so what one check leaves over does not pile up.
type meter struct {
	mu     sync.Mutex
	active int
	left   atomic.Int64
}

func (m *meter) begin(payload int) {
	m.mu.Lock()
	m.active++
	m.left.Add(workBase + workPerByte*int64(payload))
	m.mu.Unlock()
}

func (m *meter) end() {
	m.mu.Lock()
	if m.active--; m.active == 0 {
		m.left.Store(0)
	}
	m.mu.Unlock()
}

// Compile implements the jsonschema extension.
func (m *meter) Compile(_ jsonschema.CompilerContext, s map[string]any) (jsonschema.ExtSchema, error) {
	if _, ok := s[keywordWork]; !ok {
		return nil, nil
	}
	return m, nil
}

// Validate implements the jsonschema extension. It panics when the work is used
// up: jsonschema asks extensions last, so an error would come after the branches
// were visited, too late to stop anything. [checked.check] recovers.
func (m *meter) Validate(jsonschema.ValidationContext, any) error {
	if m.left.Add(-1) < 0 {
		panic(errWork)
	}
	return nil
}

// multiplies reports whether a schema applies several schemas to one value.
func multiplies(s map[string]any) bool {
	for _, k := range []string{"allOf", "anyOf", "dependencies", "dependentSchemas", "if", "not", "oneOf", keywordDispatch} {
		if _, ok := s[k]; ok {
			return true
		}
	}
	_, ref := s["$ref"]
	return ref && len(s) > 1
}
