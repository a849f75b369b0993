package host

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// Diagnose looks at a data folder and at the harnesses as a host with this
// configuration would find them, without opening the folder: another process may
// have it, it may be damaged, or there may be none yet. Nothing is changed in it
// except that a probe keeps compiled bindings in the cache. No turn is begun.
//
// Errors: invalid_argument.
func Diagnose(ctx context.Context, cfg Config, o DiagnoseOptions) (Diagnosis, error) {
	cfg, err := cfg.withDefaults().located()
	if err != nil {
		return Diagnosis{}, err
	}
	h := &Host{cfg: cfg, env: newLaunchEnv(cfg)}
	snapshot, err := store.OpenSnapshot(ctx, cfg.Dir)
	grants := func(context.Context) ([]store.Grant, error) { return nil, nil }
	if err == nil {
		defer func() { _ = snapshot.Close() }()
		grants = snapshot.Grants
	}
	h.bindings = newRegistry(h, grants)
	d := &diagnosing{h: h, opts: o}
	builtIn := h.bindings.loadBuiltIn()
	d.out.Data = checkData(cfg.Dir, false)
	out, err := d.run(ctx)
	if builtIn != nil {
		out.Modules = append(out.Modules, ModuleCheck{Finding: findingOf(SeverityError, builtIn)})
	}
	return out, err
}

// Diagnose is the function of that name for a host that is open: it tells its own
// state too, and harnesses are found the way this host starts them.
//
// Errors: those of the store.
func (h *Host) Diagnose(ctx context.Context, o DiagnoseOptions) (Diagnosis, error) {
	d := &diagnosing{h: h, opts: o}
	d.out.Host = h.checkSelf()
	if o.Runtime {
		d.out.Host.Stacks, d.out.Host.Metrics = runtimeState()
	}
	d.out.Data = checkData(h.cfg.Dir, true)
	return d.run(ctx)
}

// diagnosing is one diagnosis under way. Of the host only its configuration, its
// bindings and its environment are used.
type diagnosing struct {
	h    *Host
	opts DiagnoseOptions
	out  Diagnosis
	env  []string
	// paths are the files of the modules in the bindings folder, by digest.
	paths map[string]string
}

func (d *diagnosing) run(ctx context.Context) (Diagnosis, error) {
	out := &d.out
	out.At, out.Version, out.ABI = d.h.now().UTC(), Version(), abi.Version
	out.Go, out.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
	modules, err := d.h.bindings.scan(ctx)
	if err != nil {
		return *out, err
	}
	if err := d.checkEnvironment(ctx); err != nil {
		return *out, err
	}
	d.paths = map[string]string{}
	for _, m := range modules {
		if m.info.Err == nil {
			d.paths[m.info.Digest] = m.info.Path
			continue
		}
		severity := SeverityError
		if m.info.Err.Code == CodeBindingNotAllowed {
			severity = SeverityNote
		}
		out.Modules = append(out.Modules, ModuleCheck{
			Path: m.info.Path, Harness: m.info.Harness, Version: m.info.Manifest.BindingVersion, Digest: m.info.Digest,
			Finding: findingOf(severity, m.info.Err),
		})
	}
	names := slices.Clone(d.opts.Harnesses)
	if len(names) == 0 {
		names = d.h.bindings.harnesses(modules)
	}
	out.Harnesses = make([]HarnessCheck, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { out.Harnesses[i] = d.checkHarness(ctx, name) })
	}
	wg.Wait()
	return *out, ctx.Err()
}

// harnesses are the ids of all harnesses that a binding can be used for.
func (r *registry) harnesses(modules []listed) []string {
	ids := map[string]bool{}
	for id := range r.builtIn {
		ids[id] = true
	}
	for _, m := range modules {
		if m.info.Err == nil {
			ids[m.info.Harness] = true
		}
	}
	return sortedKeys(ids)
}

// lowRoom is how much room on the disk is called little, in bytes.
const lowRoom = 256 << 20

// checkData looks at the data folder; ours says that this process has it open.
func checkData(dir string, ours bool) DataCheck {
	c := store.Inspect(dir)
	out := DataCheck{
		Dir: dir, Exists: c.Exists, Usable: true, Schema: c.Schema, Known: c.Known,
		DataBytes: c.DataBytes, LogBytes: c.LogBytes, BackupBytes: c.BackupBytes, FreeBytes: c.FreeBytes, Holder: c.Holder,
	}
	if p := c.Problem; p != nil && (!ours || p.Code != store.CodeLocked) {
		out.Findings = append(out.Findings, findingOf(SeverityError, storeError(p)))
	}
	if c.FreeBytes >= 0 && c.FreeBytes < lowRoom {
		out.Findings = append(out.Findings, findingOf(SeverityWarning, fail(CodeDiskLow, "%d MB are left on the disk of the data folder.", c.FreeBytes>>20)))
	}
	if !ours && c.Exists && c.Problem == nil && c.Schema < c.Known {
		out.Findings = append(out.Findings, findingOf(SeverityNote, fail(CodeStoreOlder, "The data has schema %d, this version %d.", c.Schema, c.Known)))
	}
	out.Usable = !failing(out.Findings)
	return out
}

// checkSelf tells the state of an open host.
func (h *Host) checkSelf() *HostCheck {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	out := &HostCheck{PID: os.Getpid(), Goroutines: runtime.NumGoroutine(), HeapBytes: mem.HeapAlloc, SystemBytes: mem.Sys}
	h.mu.Lock()
	for _, c := range h.actors {
		out.Conversations++
		if v := c.view.Load(); v != nil && v.Session.State != SessionNone {
			out.Sessions++
		}
	}
	h.mu.Unlock()
	if err := h.store.Failing(); err != nil {
		out.Findings = append(out.Findings, findingOf(SeverityError, storeError(err)))
	}
	return out
}

// runtimeState tells what the goroutines do and the whole numbers of the runtime.
func runtimeState() (stacks string, numbers map[string]int64) {
	var b strings.Builder
	// A strings.Builder takes everything.
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1)
	var samples []metrics.Sample
	for _, d := range metrics.All() {
		if d.Kind == metrics.KindUint64 {
			samples = append(samples, metrics.Sample{Name: d.Name})
		}
	}
	metrics.Read(samples)
	numbers = map[string]int64{}
	for _, s := range samples {
		numbers[s.Name] = int64(min(s.Value.Uint64(), math.MaxInt64))
	}
	return b.String(), numbers
}

// checkEnvironment resolves the environment that harnesses are started from.
func (d *diagnosing) checkEnvironment(ctx context.Context) error {
	out := &d.out.Environment
	e := d.h.env
	out.Source = EnvironmentGiven
	var err error
	if d.env, err = e.get(ctx); err != nil {
		return err
	}
	if e.fixed == nil {
		out.Source = EnvironmentLogin
		shell, took := e.login.Took()
		out.Shell, out.TookMS = shell, took.Milliseconds()
		if _, err := e.login.Env(ctx); err != nil {
			out.Source = EnvironmentOwn
			out.Findings = append(out.Findings, findingOf(SeverityWarning, processError(err)))
		} else if took > d.h.cfg.login/2 {
			out.Findings = append(out.Findings, findingOf(SeverityWarning, fail(CodeLoginEnvSlow, "%s took %s seconds; after %s seconds it is no longer waited for.",
				shell, strconv.FormatFloat(took.Seconds(), 'f', 1, 64), strconv.FormatFloat(d.h.cfg.login.Seconds(), 'f', 0, 64))))
		}
	}
	out.Path = orEmpty(slices.DeleteFunc(filepath.SplitList(variable(d.env, "PATH")), func(p string) bool { return p == "" }))
	return nil
}

// variable returns the value of a variable; the last entry counts.
func variable(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
