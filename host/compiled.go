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
	users  int
	// unused counts how often it came to be without a user; a timer that was set for
	// an earlier time knows that it comes too late.
	unused int
}

// use returns the compiled module and its schemas, for a session that will release
// them. After an error there is nothing to release.
func (b *binding) use(ctx context.Context) (*engine.Module, *schemas.Set, error) {
	c := &b.compiled
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.module == nil && c.err == nil {
		c.module, c.set, c.err = b.compile(ctx)
	}
	if c.err != nil {
		return nil, nil, c.err
	}
	c.users++
	return c.module, c.set, nil
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
	c.unused++
	if at := c.unused; after > 0 {
		time.AfterFunc(after, func() { b.letGo(at) })
	}
}

func (b *binding) letGo(at int) {
	c := &b.compiled
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users > 0 || c.unused != at || c.module == nil {
		return
	}
	// It has no instances; where the host was closed meanwhile it is closed already.
	_ = c.module.Close(context.Background())
	c.module, c.set = nil, nil
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
