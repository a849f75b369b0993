package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aoagents/ao-host/abi"
)

// Module is a compiled module. It is safe for concurrent use.
type Module struct {
	engine *Engine
	key    moduleKey
	limits abi.Limits
	native *native

	mu        sync.Mutex
	closed    bool
	instances map[*Instance]struct{}
}

// CompileInfo says how a module was made ready.
type CompileInfo struct {
	// Cached: verified native code from the cache was used.
	Cached bool
	// CacheErr is why the cache could not be read or written. The module works
	// all the same; the next start takes longer.
	CacheErr error
	// Duration is the time compiling or reading the cache took.
	Duration time.Duration
}

// Compiled says how the module was made ready.
func (m *Module) Compiled() CompileInfo { return m.native.info }

// Limits are those in force: what was asked for, with the defaults filled in
// and cut down to the maxima.
func (m *Module) Limits() abi.Limits { return m.limits }

// Instantiate makes an instance and runs its _initialize. When the module traps
// or takes too long the error is a [*Fault].
func (m *Module) Instantiate(ctx context.Context) (*Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("engine: instantiate: %w", err)
	}
	i := newInstance(m)
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil, errClosed
	}
	m.instances[i] = struct{}{}
	// Held from here on, so that a concurrent Close waits.
	i.mu.Lock()
	m.mu.Unlock()
	f := i.start(ctx)
	i.mu.Unlock()
	if f != nil {
		m.drop(i)
		return nil, f
	}
	return i, nil
}

func (m *Module) drop(i *Instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.instances, i)
}

// Close closes the instances and frees the native code. A call that runs is
// waited for; cancel its context to make it end.
func (m *Module) Close(ctx context.Context) error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	all := make([]*Instance, 0, len(m.instances))
	for i := range m.instances {
		all = append(all, i)
	}
	m.mu.Unlock()

	m.engine.mu.Lock()
	if l := m.engine.modules[m.key]; l != nil && l.mod == m {
		delete(m.engine.modules, m.key)
	}
	m.engine.mu.Unlock()

	var errs []error
	for _, i := range all {
		errs = append(errs, i.Close(ctx))
	}
	return errors.Join(append(errs, m.native.close(ctx))...)
}
