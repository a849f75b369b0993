package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/host/internal/engine"
)

// uncompiled is a binding whose compilation takes its time: there is no cache.
func uncompiled(t *testing.T) *binding {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "bindings-wasm", "codex.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := module.ReadManifest(wasm)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(t.Context(), engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return &binding{wasm: wasm, engine: e, info: BindingInfo{Manifest: m}}
}

// underWay waits until the binding is being compiled.
func (b *binding) underWay() (made chan struct{}) {
	for made == nil {
		time.Sleep(time.Millisecond)
		b.compiled.mu.Lock()
		made = b.compiled.making
		b.compiled.mu.Unlock()
	}
	return made
}

func (b *binding) isMade() bool {
	b.compiled.mu.Lock()
	defer b.compiled.mu.Unlock()
	return b.compiled.module != nil
}

func TestRule22_AStartThatWaitsForACompilationIsAbortedAtOnceAndNobodyElseIs(t *testing.T) {
	b := uncompiled(t)
	ctx, abort := context.WithCancel(t.Context())
	aborted := make(chan error, 1)
	go func() {
		_, _, err := b.use(ctx)
		aborted <- err
	}()
	made := b.underWay()
	mods := make([]*engine.Module, 8)
	var wg sync.WaitGroup
	for i := range mods {
		wg.Go(func() {
			var err error
			if mods[i], _, err = b.use(t.Context()); err != nil {
				t.Errorf("a start that was not aborted: %v", err)
			}
		})
	}
	abort()
	if err := <-aborted; !errors.Is(err, context.Canceled) {
		t.Fatalf("the aborted start got %v", err)
	}
	select {
	case <-made:
		t.Fatal("the abort waited for the compilation")
	default:
	}
	wg.Wait()
	for _, m := range mods {
		if m == nil || m != mods[0] {
			t.Fatalf("it was compiled more than once: %v", mods)
		}
	}
	// It is kept for the next session, and let go once none has come for a while.
	for range mods {
		b.release(time.Hour)
	}
	if _, _, err := b.use(t.Context()); err != nil || !b.isMade() {
		t.Fatalf("a session after them all: %v", err)
	}
	b.release(time.Millisecond)
	for end := time.Now().Add(time.Minute); b.isMade(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what nobody uses was kept")
		}
	}
}

func TestWhatIsCompiledForStartsThatWereAllAbortedIsLetGo(t *testing.T) {
	b := uncompiled(t)
	ctx, abort := context.WithCancel(t.Context())
	under := make(chan chan struct{}, 1)
	go func() {
		under <- b.underWay()
		abort()
	}()
	if _, _, err := b.use(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("the aborted start got %v", err)
	}
	<-<-under
	if b.isMade() {
		t.Fatal("it was kept")
	}
	if _, _, err := b.use(t.Context()); err != nil || !b.isMade() {
		t.Fatalf("a later start: %v", err)
	}
	b.release(0)
}
