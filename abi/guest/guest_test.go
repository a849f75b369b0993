package guest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
)

func TestEveryEffectKindHasAMethodThatAppendsIt(t *testing.T) {
	kinds := reflect.TypeFor[abi.Effect]()
	var r recorder
	r.step = func(_ *abi.Event, out *guest.Effects) {
		for i := range kinds.NumField() {
			f := kinds.Field(i)
			m := reflect.ValueOf(out).MethodByName(f.Name)
			if !m.IsValid() {
				t.Errorf("no method for the effect %s", f.Name)
				continue
			}
			m.Call([]reflect.Value{reflect.New(f.Type.Elem())})
			if out.Len() != i+1 {
				t.Errorf("%d effects after %s, want %d", out.Len(), f.Name, i+1)
			}
		}
	}
	out, err := guest.NewMachine(&r).Step([]byte(`{"now":1,"close":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	effects, err := abi.DecodeEffects(out)
	if err != nil || len(effects) != kinds.NumField() {
		t.Fatalf("%d effects, error %v", len(effects), err)
	}
	for i := range effects {
		if got, want := effects[i].Kind(), strings.TrimSuffix(kinds.Field(i).Tag.Get("json"), ",omitempty"); got != want {
			t.Errorf("effect %d is %q, want %q", i, got, want)
		}
	}
	if !json.Valid(out) {
		t.Errorf("invalid JSON: %s", out)
	}
}

// recorder is a reducer made of functions.
type recorder struct {
	step   func(*abi.Event, *guest.Effects)
	events int
	state  string
}

func (r *recorder) Step(ev *abi.Event, out *guest.Effects) {
	r.events++
	if r.step != nil {
		r.step(ev, out)
	}
}

func (r *recorder) Save(dst []byte) []byte { return append(dst, r.state...) }

func (r *recorder) Load(state []byte) error {
	if len(state) == 0 {
		return errors.New("empty state")
	}
	r.state = string(state)
	return nil
}

func TestAMachineStepsSavesAndLoads(t *testing.T) {
	r := &recorder{step: func(ev *abi.Event, out *guest.Effects) {
		if ev.Stop != nil {
			out.Log(&abi.Log{Text: "stop " + ev.Stop.Turn + " at " + strconv.FormatInt(ev.Now, 10)})
		}
	}}
	m := guest.NewMachine(r)
	for _, c := range []struct{ in, want string }{
		{`{"now":5,"stop":{"turn":"t1"}}`, `[{"log":{"text":"stop t1 at 5"}}]`},
		{`{"now":6,"close":{}}`, `[]`},
		{`{"now":7,"stop":{}}`, `[{"log":{"text":"stop  at 7"}}]`},
	} {
		if out, err := m.Step([]byte(c.in)); err != nil || string(out) != c.want {
			t.Errorf("%s: %s, error %v, want %s", c.in, out, err, c.want)
		}
	}
	if err := m.Load([]byte("s1")); err != nil || string(m.Save()) != "s1" {
		t.Errorf("saved %q, error %v", m.Save(), err)
	}
	if err := m.Load(nil); err == nil || string(m.Save()) != "s1" {
		t.Errorf("a refused state: error %v, saved %q", err, m.Save())
	}
}

func TestMalformedAndUnknownEventsDoNotReachTheReducer(t *testing.T) {
	r := &recorder{}
	m := guest.NewMachine(r)
	for _, in := range []string{``, `{`, `[]`, `{"now":1,"stop":{},"close":{}}`, `{"now":1}x`} {
		if out, err := m.Step([]byte(in)); err == nil {
			t.Errorf("%q gave %s", in, out)
		}
	}
	if out, err := m.Step([]byte(`{"now":1,"resurrect":{}}`)); err != nil || string(out) != "[]" {
		t.Errorf("an event of a newer host gave %s, error %v", out, err)
	}
	if r.events != 0 {
		t.Errorf("the reducer saw %d events", r.events)
	}
}

func TestOneBigStepDoesNotKeepItsMemory(t *testing.T) {
	big := strings.Repeat("x", 8<<20)
	r := &recorder{step: func(ev *abi.Event, out *guest.Effects) {
		if ev.Stop != nil {
			out.Log(&abi.Log{Text: big})
		}
	}}
	m := guest.NewMachine(r)
	out, err := m.Step([]byte(`{"now":1,"stop":{}}`))
	if err != nil || len(out) < len(big) {
		t.Fatalf("%d bytes, error %v", len(out), err)
	}
	if out, _ = m.Step([]byte(`{"now":2,"close":{}}`)); cap(out) > 1<<20 {
		t.Errorf("a buffer of %d bytes is kept", cap(out))
	}
}

// Reflection and formatting are what makes a Go module big and slow, so nothing
// that guests link may import them.
func TestWhatGuestsLinkImportsNothingHeavy(t *testing.T) {
	allowed := []string{"errors", "math/bits", "runtime", "strconv", "unicode/utf16", "unicode/utf8", "unsafe"}
	for _, dir := range []string{".", "..", "../jsonwire"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, imp := range f.Imports {
				path, _ := strconv.Unquote(imp.Path.Value)
				if !slices.Contains(allowed, path) && !strings.HasPrefix(path, "github.com/aoagents/ao-host/abi") {
					t.Errorf("%s imports %s", name, path)
				}
			}
		}
	}
}

func ExampleMachine() {
	m := guest.NewMachine(&recorder{step: func(_ *abi.Event, out *guest.Effects) {
		out.Delta(&abi.Delta{Turn: "t1", Item: "m1", Channel: abi.ChannelText, Text: "Hello"})
	}})
	out, err := m.Step([]byte(`{"now":1795998657000,"message":{"type":"notification","method":"item/delta"}}`))
	fmt.Println(string(out), err)
	// Output: [{"delta":{"turn":"t1","item":"m1","channel":"text","text":"Hello"}}] <nil>
}
