package engine

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/aoagents/ao-host/host/internal/meter"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// native is a module compiled by wazero, in a runtime of its own: the memory
// limit belongs to a runtime, and closing it frees everything.
type native struct {
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
	info     CompileInfo
}

// compileNative compiles with all cores, taking native code from the cache when
// it is there and verified.
func compileNative(ctx context.Context, m meter.Result, cache *codeCache) (n *native, err error) {
	defer func() {
		// wazero is fuzzed, but it compiles a stranger's file: a panic of its
		// must not end the host.
		if p := recover(); p != nil {
			n, err = nil, fmt.Errorf("engine: compiling the module failed: %v", p)
		}
	}()
	began := time.Now()
	var room *workroom
	info := CompileInfo{}
	if cache != nil {
		room, info.CacheErr = cache.open(m.Wasm)
	}
	defer func() {
		if room != nil {
			room.close()
		}
	}()

	n, err = compileWith(ctx, m, room)
	if err != nil && room != nil && ctx.Err() == nil {
		// Code that was ours and complete may be of no use to wazero, and new code
		// finds no room on a full disk. Whether the module is at fault shows without.
		info.CacheErr = fmt.Errorf("engine: the compile cache was not usable: %w", err)
		room.close()
		room = nil
		n, err = compileWith(ctx, m, nil)
	}
	if err != nil {
		return nil, err
	}
	if room != nil {
		info.Cached, err = room.publish()
		if err != nil {
			info.CacheErr, err = err, nil
		}
	}
	info.Duration = time.Since(began)
	n.info = info
	return n, nil
}

func compileWith(ctx context.Context, m meter.Result, room *workroom) (*native, error) {
	n := &native{}
	cfg := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithDebugInfoEnabled(false).
		WithMemoryLimitPages(max(1, m.MemoryMaxPages))
	if room != nil {
		c, err := wazero.NewCompilationCacheWithDir(room.dir)
		if err != nil {
			return nil, fmt.Errorf("engine: open the compile cache: %w", err)
		}
		n.cache = c
		cfg = cfg.WithCompilationCache(c)
	}
	// The runtime must not watch a context: see the package meter.
	n.runtime = wazero.NewRuntimeWithConfig(context.WithoutCancel(ctx), cfg)
	err := n.compile(ctx, m)
	if err != nil {
		_ = n.close(context.WithoutCancel(ctx)) // the error of compiling is the one to report
		return nil, err
	}
	return n, nil
}

func (n *native) compile(ctx context.Context, m meter.Result) error {
	if err := n.hostModules(context.WithoutCancel(ctx), m); err != nil {
		return fmt.Errorf("engine: prepare the host functions: %w", err)
	}
	compiled, err := n.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0)), m.Wasm)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("engine: compile: %w", ctx.Err())
		}
		return &meter.Error{Code: meter.CodeInvalid, Offset: -1, Message: "the module is not valid WebAssembly 2.0: " + firstLine(err.Error())}
	}
	n.compiled = compiled
	return nil
}

// hostModules provides what the module imports, and no more.
func (n *native) hostModules(ctx context.Context, m meter.Result) error {
	b := n.runtime.NewHostModuleBuilder(meter.HostModule)
	b.NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(refill), []api.ValueType{api.ValueTypeI64}, []api.ValueType{api.ValueTypeI64}).
		Export(meter.RefillImport)
	if _, err := b.Instantiate(ctx); err != nil {
		return err
	}
	if len(m.Imports) == 0 {
		return nil
	}
	b = n.runtime.NewHostModuleBuilder(wasiModule)
	done := map[string]bool{}
	for _, im := range m.Imports {
		if done[im.Name] {
			continue
		}
		done[im.Name] = true
		t := wasiType(im.Name)
		b.NewFunctionBuilder().
			WithGoModuleFunction(hostCall(wasiFuncs[im.Name].run), apiTypes(t.Params), apiTypes(t.Results)).
			Export(im.Name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

func apiTypes(ts []meter.ValType) []api.ValueType {
	out := make([]api.ValueType, len(ts))
	for i, t := range ts {
		out[i] = api.ValueType(t) // wazero uses the binary form too
	}
	return out
}

type instanceKey struct{}

// refill is the import of package meter.
func refill(ctx context.Context, _ api.Module, stack []uint64) {
	i := ctx.Value(instanceKey{}).(*Instance)
	stack[0] = uint64(i.refill(int64(stack[0])))
}

// hostCall adapts a function of the guest's operating system.
func hostCall(f syscall) api.GoModuleFunc {
	if f == nil {
		return func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = errnoBadf }
	}
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		i := ctx.Value(instanceKey{}).(*Instance)
		mem := mod.Memory()
		b, _ := mem.Read(0, mem.Size())
		r := f(&i.sys, b, stack)
		if len(stack) > 0 {
			stack[0] = uint64(r)
		}
	}
}

func (n *native) close(ctx context.Context) error {
	err := n.runtime.Close(ctx)
	if n.cache != nil {
		if cerr := n.cache.Close(ctx); err == nil {
			err = cerr
		}
	}
	return err
}
