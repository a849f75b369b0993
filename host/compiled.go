package host

import (
	"context"
	"sync"
	"time"

	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/host/internal/engine"
	"github.com/aoagents/ao-host/schemas"
)

// compiled is what a binding is made into: native code and schemas, a dozen
// megabytes. It is made when first needed, shared by all sessions of the binding,
// and let go when none has used it for a while.
type compiled struct {
	mu     sync.Mutex
	module *engine.Module
	set    *schemas.Set
	err    error
	// making is closed when what is being made is made, nil while nothing is. It
	// takes seconds, in which the lock is free.
	making chan struct{}
	// waiting counts those who wait for it, users the sessions that have it.
	waiting, users int
	// kept: it has no user, and stays for the next one.
	kept bool
	// unused counts how often it came to be without a user; a timer that was set for
	// an earlier time knows that it comes too late.
	unused int
}

// use returns the compiled module and its schemas, for a session that will release
// them. After an error there is nothing to release. It ends with ctx; who else waits
// is not disturbed by that.
func (b *binding) use(ctx context.Context) (*engine.Module, *schemas.Set, error) {
	c := &b.compiled
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.module == nil && c.err == nil {
		if c.making == nil {
			c.making = make(chan struct{})
			go b.make(context.WithoutCancel(ctx), c.making)
		}
		made := c.making
		c.waiting++
		c.mu.Unlock()
		var err error
		select {
		case <-made:
		case <-ctx.Done():
			err = ctx.Err()
		}
		c.mu.Lock()
		c.waiting--
		if err != nil {
			c.drop()
			return nil, nil, err
		}
	}
	if c.err != nil {
		return nil, nil, c.err
	}
	c.users++
	c.kept = false
	return c.module, c.set, nil
}

// make compiles the binding for those who wait.
func (b *binding) make(ctx context.Context, made chan struct{}) {
	mod, set, err := b.compile(ctx)
	c := &b.compiled
	c.mu.Lock()
	defer c.mu.Unlock()
	c.module, c.set, c.err, c.making = mod, set, err, nil
	c.drop()
	close(made)
}

// drop lets go of what was made for those who have all given up; no release will. The
// lock must be held.
func (c *compiled) drop() {
	if c.module == nil || c.waiting > 0 || c.users > 0 || c.kept {
		return
	}
	c.free()
}

// free lets go of what was made. The lock must be held.
func (c *compiled) free() {
	// It has no instances; where the host was closed meanwhile it is closed already.
	_ = c.module.Close(context.Background())
	c.module, c.set, c.kept = nil, nil, false
}

// release ends a session's use. After a while without any, what was made is let go;
// zero means never.
func (b *binding) release(after time.Duration) {
	c := &b.compiled
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users > 0 {
		return
	}
	c.kept = true
	c.unused++
	if at := c.unused; after > 0 {
		time.AfterFunc(after, func() { b.letGo(at) })
	}
}

func (b *binding) letGo(at int) {
	c := &b.compiled
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users > 0 || c.waiting > 0 || c.unused != at || c.module == nil {
		return
	}
	c.free()
}

// compile makes the native code and the schemas.
func (b *binding) compile(ctx context.Context) (*engine.Module, *schemas.Set, error) {
	section, err := module.ReadSchemas(b.wasm)
	if err != nil {
		return nil, nil, moduleError(err)
	}
	set, err := schemas.Open(section)
	if err != nil {
		return nil, nil, &Error{Code: CodeSchemasInvalid, Detail: err.Error() + ".", Err: err}
	}
	mod, err := b.engine.Load(context.WithoutCancel(ctx), b.wasm, b.info.Manifest.Limits)
	if err != nil {
		return nil, nil, moduleError(err)
	}
	return mod, set, nil
}
