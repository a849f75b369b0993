package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host/internal/meter"
)

// Config configures an [Engine]. The zero value works, without a cache on disk.
type Config struct {
	// CacheDir holds compiled native code, which takes 0.5–1.2 s to make anew.
	// Empty for none.
	CacheDir string
	// DigestDir holds the digests of what this engine put into CacheDir; code
	// without one is not run. It must not be inside of CacheDir, so that who can
	// write there cannot vouch for it. Required with CacheDir.
	DigestDir string
	// MaxModuleBytes bounds a module file; zero means [abi.MaxModuleBytes].
	MaxModuleBytes int
	// Seed seeds the random stream of every instance. Outputs must not depend
	// on it (DESIGN §3); tests vary it to prove that.
	Seed [32]byte
}

// Engine compiles modules. It is safe for concurrent use.
type Engine struct {
	cfg     Config
	cache   *codeCache // nil without a cache on disk
	closing atomic.Bool

	mu      sync.Mutex
	modules map[moduleKey]*loading
}

type moduleKey [sha256.Size]byte

// loading is a module that is being compiled or was; done is closed when mod
// and err are set.
type loading struct {
	done chan struct{}
	mod  *Module
	err  error
}

var errClosed = errors.New("engine: closed")

// New prepares an engine and its cache folders.
func New(_ context.Context, cfg Config) (*Engine, error) {
	e := &Engine{cfg: cfg, modules: map[moduleKey]*loading{}}
	if cfg.CacheDir != "" {
		c, err := openCodeCache(cfg.CacheDir, cfg.DigestDir)
		if err != nil {
			return nil, err
		}
		e.cache = c
	}
	return e, nil
}

// Load checks, meters and compiles a module, or returns the one already loaded
// from the same bytes with the same limits. Zero limits are the defaults, larger
// than [MaxLimits] are cut down. A refused module is a [*meter.Error].
func (e *Engine) Load(ctx context.Context, wasm []byte, limits abi.Limits) (*Module, error) {
	limits = effective(limits)
	key := keyOf(wasm, limits)
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("engine: load: %w", err)
		}
		e.mu.Lock()
		if e.closing.Load() {
			e.mu.Unlock()
			return nil, errClosed
		}
		l := e.modules[key]
		mine := l == nil
		if mine {
			l = &loading{done: make(chan struct{})}
			e.modules[key] = l
		}
		e.mu.Unlock()

		if mine {
			l.mod, l.err = e.compile(ctx, wasm, limits, key)
			if l.err != nil {
				e.forget(key, l)
			}
			close(l.done)
			return l.mod, l.err
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("engine: load: %w", ctx.Err())
		}
		// Another caller's cancelled context is no reason to fail this one.
		if l.err == nil || !errors.Is(l.err, context.Canceled) && !errors.Is(l.err, context.DeadlineExceeded) {
			return l.mod, l.err
		}
	}
}

func keyOf(wasm []byte, l abi.Limits) moduleKey {
	h := sha256.New()
	var b [32]byte
	for i, v := range []int64{l.MemoryBytes, l.FuelPerStep, l.FuelPerByte, l.OutputBytes} {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(v))
	}
	h.Write(b[:])
	h.Write(wasm)
	return moduleKey(h.Sum(nil))
}

func (e *Engine) forget(key moduleKey, l *loading) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.modules[key] == l {
		delete(e.modules, key)
	}
}

func (e *Engine) compile(ctx context.Context, wasm []byte, limits abi.Limits, key moduleKey) (*Module, error) {
	metered, err := meter.Rewrite(wasm, meterOptions(limits, e.cfg.MaxModuleBytes))
	if err != nil {
		return nil, err
	}
	native, err := compileNative(ctx, metered, e.cache)
	if err != nil {
		return nil, err
	}
	return &Module{engine: e, key: key, limits: limits, native: native, instances: map[*Instance]struct{}{}}, nil
}

// Close stops what runs, closes every instance and module, and waits for them.
// Calls that are running fail with [FaultClosed].
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closing.Store(true)
	all := make([]*loading, 0, len(e.modules))
	for _, l := range e.modules {
		all = append(all, l)
	}
	e.mu.Unlock()
	var errs []error
	for _, l := range all {
		<-l.done
		if l.mod != nil {
			errs = append(errs, l.mod.Close(ctx))
		}
	}
	return errors.Join(errs...)
}
