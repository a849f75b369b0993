package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// dialects are the supported drafts by the address in $schema, without the
// trailing "#".
var dialects = map[string]*jsonschema.Draft{
	"http://json-schema.org/draft-06/schema":       jsonschema.Draft6,
	"http://json-schema.org/draft-07/schema":       jsonschema.Draft7,
	"https://json-schema.org/draft/2019-09/schema": jsonschema.Draft2019,
	"https://json-schema.org/draft/2020-12/schema": jsonschema.Draft2020,
}

func findDialect(address string) (*jsonschema.Draft, error) {
	if d, ok := dialects[strings.TrimSuffix(address, "#")]; ok {
		return d, nil
	}
	return nil, failf(CodeSectionUnsupported, nil, "the JSON Schema dialect %.80q is not supported; use draft 7 or 2020-12", address)
}

// compiler compiles the schemas of one version for one direction, one definition
// at a time, as they are needed.
type compiler struct {
	defs     map[string]json.RawMessage
	lenient  bool
	siblings bool
	// plain leaves unions and numbers as they are; the tests compare with it.
	plain bool
	// flat: no definition asks which members others have evaluated.
	flat bool

	// mu guards the members below. A compiled schema is never changed again, so
	// checks need no lock.
	mu       sync.Mutex
	work     *meter
	c        *jsonschema.Compiler
	unions   *dispatchTable
	prepared map[string]any
	count    int
}

func newCompiler(defs map[string]json.RawMessage, draft *jsonschema.Draft, lenient, plain bool) *compiler {
	c := &compiler{
		defs: defs, lenient: lenient, plain: plain,
		siblings: draft == jsonschema.Draft2019 || draft == jsonschema.Draft2020,
		c:        jsonschema.NewCompiler(),
		unions:   &dispatchTable{},
		work:     &meter{},
		prepared: map[string]any{},
	}
	c.flat = true
	for name, raw := range defs {
		// Most schemas do not mention the keywords, and preparing them all takes long.
		if c.flat && bytes.Contains(raw, []byte(`"unevaluated`)) {
			c.flat = !evaluates(c.definition(definitionURL(name)))
		}
	}
	c.c.Draft = draft
	c.c.RegisterExtension(keywordDispatch, nil, c.unions)
	c.c.RegisterExtension(keywordNumber, nil, numberCompiler{})
	c.c.RegisterExtension(keywordWork, nil, c.work)
	// Nothing is ever loaded from anywhere else: jsonschema reads files by default.
	c.c.LoadURL = c.load
	return c
}

// checked is a compiled schema and what the decoder needs to know for it.
type checked struct {
	schema *jsonschema.Schema
	voc    vocabulary
	work   *meter
}

// compile compiles one schema of the method table.
func (c *compiler) compile(raw json.RawMessage) (out *checked, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		// jsonschema panics on some schemas that pass its own check of schemas.
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("schemas: compiling failed: %v", r)
		}
	}()
	c.count++
	address := "schema:///methods/" + strconv.Itoa(c.count)
	v, err := c.prepare(raw)
	if err != nil {
		return nil, err
	}
	voc := c.vocabulary(v)
	text, err := c.encode(v)
	if err != nil {
		return nil, err
	}
	if err := c.c.AddResource(address, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	s, err := c.c.Compile(address)
	if err != nil {
		return nil, err
	}
	return &checked{schema: s, voc: voc, work: c.work}, nil
}

// encode writes a prepared schema for jsonschema, which reads schemas as text.
func (c *compiler) encode(v any) ([]byte, error) {
	if !c.plain {
		v = cloneJSON(v)
		if c.flat && !evaluates(v) {
			f := flattener{definition: c.definition, left: maxInlineNodes}
			v = f.schema(v)
		}
		accelerate(v, c.unions, analyst{resolve: c.definition, siblings: c.siblings})
	}
	return json.Marshal(v)
}

// vocabulary collects the words of a schema and of all definitions it leads to.
func (c *compiler) vocabulary(v any) vocabulary {
	voc := vocabulary{known: map[string]any{}}
	seen := map[string]bool{}
	var visit func(v any)
	visit = func(v any) {
		if keep := words(v, voc.known); keep < 0 || voc.keep < 0 {
			voc.keep = -1
		} else {
			voc.keep = max(voc.keep, keep)
		}
		walkSchemas(v, func(s map[string]any) {
			if ref, ok := s["$ref"].(string); ok && !seen[ref] {
				seen[ref] = true
				visit(c.definition(ref))
			}
		})
	}
	visit(v)
	return voc
}

func (c *compiler) prepare(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return prepare(v, c.lenient, c.siblings)
}

// definition returns a prepared definition by its address, nil if there is none.
func (c *compiler) definition(address string) any {
	name, _ := definitionName(address)
	if v, ok := c.prepared[name]; ok {
		return v
	}
	raw, ok := c.defs[name]
	if !ok {
		return nil
	}
	v, err := c.prepare(raw)
	if err != nil {
		v = nil
	}
	c.prepared[name] = v
	return v
}

// load hands a definition to jsonschema.
func (c *compiler) load(address string) (io.ReadCloser, error) {
	name, ok := definitionName(address)
	raw, found := c.defs[name]
	if !ok || !found {
		return nil, fmt.Errorf("there is no definition %.80q", address)
	}
	if c.definition(address) == nil {
		_, err := c.prepare(raw)
		return nil, fmt.Errorf("definition %.80q: %w", name, err)
	}
	text, err := c.encode(c.definition(address))
	if err != nil {
		return nil, fmt.Errorf("definition %.80q: %w", name, err)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// check decodes a payload and validates it. A *jsonschema.ValidationError means
// that it does not fit, an [*Error] that the schema is no good, any other error
// that the payload is no JSON.
func (k *checked) check(payload []byte) (err error) {
	v, err := k.voc.decode(payload)
	if err != nil {
		return err
	}
	k.work.begin(len(payload))
	defer func() {
		k.work.end()
		if r := recover(); r != nil {
			err = failf(CodeSchemaInvalid, nil, "checking was given up: %v; pack the binding again from generated schemas", r)
		}
	}()
	return k.schema.Validate(v)
}

// asValidation returns the jsonschema error in err.
func asValidation(err error) (*jsonschema.ValidationError, bool) {
	var ve *jsonschema.ValidationError
	ok := errors.As(err, &ve)
	return ve, ok
}

// wholeNumber reads a small non-negative number of a schema.
func wholeNumber(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	if err != nil || f < 0 || f > 1<<20 || f != math.Trunc(f) {
		return 0, false
	}
	return int(f), true
}
