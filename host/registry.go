package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/module"
	bindingswasm "github.com/aoagents/ao-host/bindings-wasm"
	"github.com/aoagents/ao-host/host/internal/engine"
	"github.com/aoagents/ao-host/internal/boundedfile"
	"github.com/aoagents/ao-host/store"
)

// Three faults within this time quarantine a binding for as long.
const (
	quarantineFaults = 3
	quarantineTime   = time.Minute
)

// binding is one installed module; info is what its bytes say, without grants. Its compiled form and schemas are made when
// first needed and shared by all sessions.
type binding struct {
	info   BindingInfo
	wasm   []byte
	engine *engine.Engine

	compiled compiled
}

// identify fills in the digest of a built-in module, which takes a while and of most
// is never asked. The registry's lock must be held.
func (b *binding) identify() {
	if b.info.Digest == "" {
		b.info.Digest = digestOf(b.wasm)
	}
}

func digestOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// registry knows the built-in modules and those in the bindings folder.
type registry struct {
	h *Host
	// grants reads the consents given.
	grants func(context.Context) ([]store.Grant, error)

	mu      sync.Mutex
	builtIn map[string]*binding
	dropped map[string]*binding // by digest
	faults  map[string][]time.Time
}

func newRegistry(h *Host, grants func(context.Context) ([]store.Grant, error)) *registry {
	return &registry{h: h, grants: grants, builtIn: map[string]*binding{}, dropped: map[string]*binding{}, faults: map[string][]time.Time{}}
}

func (r *registry) loadBuiltIn() error {
	mods := r.h.cfg.Bindings
	if mods == nil {
		mods = bindingswasm.Modules()
	}
	for _, wasm := range mods {
		b := r.peruse(wasm)
		if b.info.Err != nil {
			return b.info.Err
		}
		b.info.BuiltIn, b.info.Allowed = true, true
		r.builtIn[b.info.Harness] = b
	}
	return nil
}

// read reads a module's manifest without running any of its code.
func (r *registry) read(wasm []byte) *binding {
	b := r.peruse(wasm)
	b.info.Digest = digestOf(wasm)
	return b
}

// peruse is read without the digest: of the bytes it touches few.
func (r *registry) peruse(wasm []byte) *binding {
	b := &binding{wasm: wasm, engine: r.h.engine}
	m, err := module.ReadManifest(wasm)
	if err == nil {
		err = module.Validate(m)
	}
	if err != nil {
		b.info.Err = moduleError(err)
	}
	b.info.Manifest, b.info.Harness = m, m.Harness
	return b
}

// listed is a module as the bindings folder and the grants show it now.
type listed struct {
	*binding
	info BindingInfo
}

// scan reads the bindings folder. A file that cannot be used is listed with the
// reason and replaces nothing (D10).
func (r *registry) scan(ctx context.Context) ([]listed, error) {
	entries, err := os.ReadDir(r.h.cfg.BindingDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fail(CodeStoreFailed, "The bindings folder could not be read: %v.", err)
	}
	grants, err := r.grants(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []listed
	// A module that left the folder is forgotten; sessions keep their own.
	before := r.dropped
	r.dropped = map[string]*binding{}
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".wasm") {
			continue
		}
		path := filepath.Join(r.h.cfg.BindingDir, e.Name())
		wasm, err := readModule(path)
		if err != nil {
			out = append(out, listed{info: BindingInfo{Path: path, Err: err}})
			continue
		}
		b := r.read(wasm)
		if known, ok := before[b.info.Digest]; ok {
			b = known
		}
		r.dropped[b.info.Digest] = b
		info := b.info
		info.Path = path
		info.Allowed = slices.ContainsFunc(grants, func(g store.Grant) bool {
			return g.Harness == info.Harness && g.Digest == info.Digest
		})
		if info.Err == nil && !info.Allowed {
			info.Err = fail(CodeBindingNotAllowed, "The module %s for %q was never allowed.", e.Name(), info.Harness)
		}
		out = append(out, listed{b, info})
	}
	return out, nil
}

func readModule(path string) ([]byte, *Error) {
	wasm, err := boundedfile.Read(path, abi.MaxModuleBytes)
	var large *boundedfile.TooLargeError
	switch {
	case errors.As(err, &large), errors.Is(err, boundedfile.ErrNotRegular):
		return nil, fail(CodeModuleInvalid, "The file %s cannot be a module: %v.", filepath.Base(path), err)
	case err != nil:
		return nil, fail(CodeModuleTruncated, "The file %s could not be read: %v.", filepath.Base(path), err)
	}
	return wasm, nil
}

// find returns the binding to use for a harness: an allowed one from the folder
// first, the newest version of several, else the built-in one.
func (r *registry) find(ctx context.Context, harness string) (*binding, error) {
	list, err := r.scan(ctx)
	if err != nil {
		return nil, err
	}
	var best *binding
	var refused error
	for _, b := range list {
		if b.info.Harness != harness {
			continue
		}
		if b.info.Err != nil {
			refused = b.info.Err
			continue
		}
		if best == nil || versionLess(best.info.Manifest.BindingVersion, b.info.Manifest.BindingVersion) {
			best = b.binding
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if best == nil {
		best = r.builtIn[harness]
	}
	if best == nil {
		if refused != nil {
			return nil, refused
		}
		return nil, failField(CodeUnknownHarness, "harness", "There is no binding for %q.", harness)
	}
	best.identify()
	if n := r.recentFaults(best.info.Digest); n >= quarantineFaults {
		return nil, fail(CodeBindingQuarantined, "The binding for %q failed %d times.", harness, n)
	}
	return best, nil
}

func (r *registry) recentFaults(digest string) int {
	now := r.h.now()
	r.faults[digest] = slices.DeleteFunc(r.faults[digest], func(t time.Time) bool { return now.Sub(t) > quarantineTime })
	return len(r.faults[digest])
}

// faulted counts a fault of a binding.
func (r *registry) faulted(digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[digest] = append(r.faults[digest], r.h.now())
}

// Bindings lists the built-in modules and those in the bindings folder, also
// those that cannot be used, with the reason.
func (h *Host) Bindings(ctx context.Context) ([]BindingInfo, error) {
	list, err := h.bindings.scan(ctx)
	if err != nil {
		return nil, err
	}
	var out []BindingInfo
	h.bindings.mu.Lock()
	for _, b := range h.bindings.builtIn {
		b.identify()
		out = append(out, b.info)
	}
	h.bindings.mu.Unlock()
	slices.SortFunc(out, func(a, b BindingInfo) int { return cmpString(a.Harness, b.Harness) })
	for _, b := range list {
		out = append(out, b.info)
	}
	return out, nil
}

// AllowBinding is the user's yes to the module in the bindings folder that is
// named by its harness id, file name or digest. The yes holds for exactly these
// bytes and takes the place of an earlier one for the same harness. A harness id
// means the module that waits for it; where several do, the file must be named.
//
// Errors: unknown_harness, invalid_argument, and what makes the module unusable.
func (h *Host) AllowBinding(ctx context.Context, name string) (BindingInfo, error) {
	info, err := h.named(ctx, name)
	if err != nil {
		return info, err
	}
	err = h.store.Write(ctx, func(tx *store.Tx) error {
		return tx.PutGrant(ctx, store.Grant{Harness: info.Harness, Digest: info.Digest, GrantedAt: h.now()})
	})
	if err != nil {
		return info, storeError(err)
	}
	info.Allowed, info.Err = true, nil
	return info, nil
}

// named returns the module that a name means, as it is now.
func (h *Host) named(ctx context.Context, name string) (BindingInfo, error) {
	list, err := h.bindings.scan(ctx)
	if err != nil {
		return BindingInfo{}, err
	}
	return chosen(list, name)
}

// chosen finds the module that a name means.
func chosen(list []listed, name string) (BindingInfo, error) {
	var byID []BindingInfo
	for _, b := range list {
		switch file := filepath.Base(b.info.Path); {
		case file == name, strings.TrimSuffix(file, ".wasm") == name && b.info.Harness != name, b.info.Digest != "" && b.info.Digest == name:
			return b.info, usable(b.info)
		case b.info.Harness == name:
			byID = append(byID, b.info)
		}
	}
	if waiting := slices.DeleteFunc(slices.Clone(byID), func(i BindingInfo) bool { return i.Allowed || usable(i) != nil }); len(waiting) > 0 {
		byID = waiting
	}
	switch len(byID) {
	case 0:
		return BindingInfo{}, failField(CodeUnknownHarness, "name", "No module in the bindings folder is named %q.", name)
	case 1:
		return byID[0], usable(byID[0])
	}
	var files []string
	for _, i := range byID {
		files = append(files, filepath.Base(i.Path))
	}
	return BindingInfo{}, failField(CodeInvalidArgument, "name", "Several modules are for %q: %s. Name the file.", name, strings.Join(files, ", "))
}

// usable says why a module cannot be allowed.
func usable(i BindingInfo) error {
	if i.Err != nil && i.Err.Code != CodeBindingNotAllowed {
		return i.Err
	}
	return nil
}

// moduleError maps errors of the module reader and the engine to ours.
func moduleError(err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var coded interface{ ErrorCode() string }
	if errors.As(err, &coded) {
		if c := Code(coded.ErrorCode()); codeTexts[c] != "" {
			return &Error{Code: c, Detail: sentence(strings.TrimPrefix(err.Error(), string(c)+": ")), Err: err, complete: true}
		}
	}
	return &Error{Code: CodeModuleInvalid, Detail: sentence(err.Error()), Err: err}
}

// sentence ends s with a full stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// Manifest returns the manifest of the binding a harness would use.
func (h *Host) Manifest(ctx context.Context, harness string) (abi.Manifest, error) {
	b, err := h.bindings.find(ctx, harness)
	if err != nil {
		return abi.Manifest{}, err
	}
	return b.info.Manifest, nil
}
