package guest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// compile builds a module with the flags that are part of the contract.
func compile(dst, dir string) error {
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", dst, dir)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// host is a WebAssembly runtime with the module of testdata/guest compiled.
type host struct {
	runtime wazero.Runtime
	wasm    []byte
	echo    wazero.CompiledModule
}

// theHost is shared: compiling takes seconds, above all under the race detector.
var theHost = sync.OnceValues(func() (*host, error) {
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "echo.wasm")
	if err := compile(file, "./testdata/guest"); err != nil {
		return nil, err
	}
	h := &host{}
	if h.wasm, err = os.ReadFile(file); err != nil {
		return nil, err
	}
	ctx := context.Background()
	h.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	if _, err = wasi_snapshot_preview1.Instantiate(ctx, h.runtime); err == nil {
		h.echo, err = h.runtime.CompileModule(ctx, h.wasm)
	}
	return h, err
})

func echo(t *testing.T) *host {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs a WebAssembly module")
	}
	h, err := theHost()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// instance is the module as any host would drive it.
type instance struct {
	t      *testing.T
	m      api.Module
	stderr bytes.Buffer
}

func instantiate(t *testing.T) *instance {
	t.Helper()
	ctx, h := context.Background(), echo(t)
	x := &instance{t: t}
	cfg := wazero.NewModuleConfig().WithName("").WithStderr(&x.stderr).WithStartFunctions("_initialize")
	var err error
	if x.m, err = h.runtime.InstantiateModule(ctx, h.echo, cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.m.Close(ctx) })
	return x
}

func (x *instance) call(name string, args ...uint64) (uint64, error) {
	res, err := x.m.ExportedFunction(name).Call(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return res[0], nil
}

// send writes in and calls a function that takes its length.
func (x *instance) send(name string, in []byte) (uint64, error) {
	x.t.Helper()
	p, err := x.call("ao_alloc", uint64(len(in)))
	if err != nil {
		return 0, err
	}
	if !x.m.Memory().Write(uint32(p), in) {
		x.t.Fatalf("ao_alloc returned %d, out of memory of %d bytes", p, x.m.Memory().Size())
	}
	return x.call(name, uint64(len(in)))
}

func (x *instance) bytes(loc uint64) []byte {
	x.t.Helper()
	b, ok := x.m.Memory().Read(uint32(loc>>32), uint32(loc))
	if !ok {
		x.t.Fatalf("result %#x is out of memory", loc)
	}
	return b
}

func (x *instance) step(in string) (string, error) {
	x.t.Helper()
	loc, err := x.send("ao_step", []byte(in))
	if err != nil {
		return "", err
	}
	return string(x.bytes(loc)), nil
}

func notification(text string) string {
	return `{"now":1795998657000,"message":{"type":"notification","method":"item/delta","params":{"itemId":"m1","delta":"` + text + `"}}}`
}

func TestAModuleStepsSavesAndLoadsLikeItsReducer(t *testing.T) {
	x := instantiate(t)
	for _, text := range []string{"", "Hello", strings.Repeat("long ", 50_000), "é"} {
		out, err := x.step(notification(text))
		if want := `[{"delta":{"item":"i1","channel":"text","text":"` + text + `"}}]`; err != nil || out != want {
			t.Fatalf("%.80s, error %v, want %.80s", out, err, want)
		}
	}
	const count = `[{"usage":{"counters":[{"name":"messages","value":4}]}}]`
	if out, err := x.step(`{"now":1,"close":{}}`); err != nil || out != count {
		t.Fatalf("%s, error %v", out, err)
	}
	loc, err := x.call("ao_save")
	if err != nil || string(x.bytes(loc)) != "4" {
		t.Fatalf("state %q, error %v", x.bytes(loc), err)
	}
	if loc, err = x.call("ao_save"); err != nil || string(x.bytes(loc)) != "4" {
		t.Fatalf("second state %q, error %v", x.bytes(loc), err)
	}
	y := instantiate(t)
	if res, err := y.send("ao_load", []byte("4")); err != nil || res != 0 {
		t.Fatalf("ao_load returned %d, error %v", res, err)
	}
	if out, err := y.step(`{"now":1,"close":{}}`); err != nil || out != count {
		t.Fatalf("after loading: %s, error %v", out, err)
	}
	if res, err := y.send("ao_load", []byte("many")); err != nil || res != 1 || !strings.Contains(y.stderr.String(), "the state is not a count") {
		t.Fatalf("a state that is refused: %d, error %v, stderr %s", res, err, &y.stderr)
	}
}

func TestAModuleTrapsWithTheReasonOnStderr(t *testing.T) {
	for name, c := range map[string]struct {
		call func(*instance) error
		say  string
	}{
		"malformed event": {func(x *instance) error { _, err := x.step(`{"now":`); return err }, "invalid JSON"},
		"two kinds":       {func(x *instance) error { _, err := x.step(`{"stop":{},"close":{}}`); return err }, "more than one kind"},
		"reducer panics":  {func(x *instance) error { _, err := x.step(`{"now":1,"stop":{}}`); return err }, "echo: told to stop"},
		"more than asked": {func(x *instance) error { _, err := x.call("ao_step", 1<<20); return err }, "more bytes announced"},
		"negative size":   {func(x *instance) error { _, err := x.call("ao_alloc", api.EncodeI32(-1)); return err }, "negative size"},
	} {
		t.Run(name, func(t *testing.T) {
			x := instantiate(t)
			if err := c.call(x); err == nil || !strings.Contains(x.stderr.String(), c.say) {
				t.Fatalf("error %v, stderr %q does not say %q", err, &x.stderr, c.say)
			}
		})
	}
}

func TestAModuleImportsOnlyWhatEveryHostOffers(t *testing.T) {
	c := echo(t).echo
	// The table "Imports" of ABI.md.
	allowed := []string{"args_get", "args_sizes_get", "clock_time_get", "environ_get", "environ_sizes_get", "fd_write", "poll_oneoff", "proc_exit", "random_get", "sched_yield"}
	for _, f := range c.ImportedFunctions() {
		mod, name, _ := f.Import()
		if mod != "wasi_snapshot_preview1" || !slices.Contains(allowed, name) {
			t.Errorf("imports %s.%s", mod, name)
		}
	}
	for _, name := range []string{"ao_alloc", "ao_step", "ao_save", "ao_load", "_initialize"} {
		if c.ExportedFunctions()[name] == nil {
			t.Errorf("does not export %s", name)
		}
	}
}

// The collector works in goroutines of its own: without runtime.Gosched in
// ao_step they starve and 64 KiB messages alone fill 200 MiB. Without the GC
// percentage the heap is twice as large from the start.
func TestTheHeapStaysSmallOverManySteps(t *testing.T) {
	for _, c := range []struct{ bytes, steps, most int }{
		{200, 20_000, 6 << 20},
		{4_000, 10_000, 6 << 20},
		{64 << 10, 2_000, 8 << 20},
	} {
		x := instantiate(t)
		in := notification(strings.Repeat("x", c.bytes))
		for range c.steps {
			if _, err := x.step(in); err != nil {
				t.Fatal(err)
			}
		}
		if got := int(x.m.Memory().Size()); got > c.most {
			t.Errorf("%d steps of %d bytes: the memory has %d bytes, want at most %d", c.steps, c.bytes, got, c.most)
		}
	}
}

func TestBuildsAreReproducibleAndSmall(t *testing.T) {
	wasm := echo(t).wasm
	if len(wasm) > 2_300_000 {
		t.Errorf("the smallest module has %d bytes: does it link fmt?", len(wasm))
	}
	file := filepath.Join(t.TempDir(), "other.wasm")
	if err := compile(file, "./testdata/guest"); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if sha256.Sum256(again) != sha256.Sum256(wasm) {
		t.Error("two builds differ")
	}
	if wd, err := os.Getwd(); err != nil || bytes.Contains(wasm, []byte(wd)) {
		t.Error("the module names the folder it was built in")
	}
}
