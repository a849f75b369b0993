// Package bindingbuild compiles and packs the first-party bindings, bit for bit
// the same in every checkout.
package bindingbuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/packing"
)

// Source is one binding: a folder of bindings-src with a manifest.json and a
// main package in module/.
type Source struct {
	Name string
	Dir  string
}

// Sources lists the bindings of a checkout by name.
func Sources(root string) ([]Source, error) {
	mains, err := filepath.Glob(filepath.Join(root, "bindings-src", "*", "module", "main.go"))
	if err != nil {
		return nil, err
	}
	var out []Source
	for _, m := range mains {
		dir := filepath.Dir(filepath.Dir(m))
		out = append(out, Source{filepath.Base(dir), dir})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no bindings-src/*/module/main.go; run this in a checkout", root)
	}
	return out, nil
}

var toolchainLine = regexp.MustCompile(`(?m)^toolchain (go[0-9.]+)$`)

// Toolchain is the Go toolchain that go.mod pins. The compiled bytes change
// with every patch release of Go, so no other may build the committed modules.
func Toolchain(root string) (string, error) {
	b, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	m := toolchainLine.FindSubmatch(b)
	if m == nil {
		return "", errors.New("go.mod has no toolchain line; the bindings need a pinned one")
	}
	return string(m[1]), nil
}

// Build compiles and packs a binding.
func Build(ctx context.Context, root string, s Source) ([]byte, error) {
	toolchain, err := Toolchain(root)
	if err != nil {
		return nil, err
	}
	manifest, err := os.ReadFile(filepath.Join(s.Dir, "manifest.json"))
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "ao-host-build-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	out := filepath.Join(tmp, "module.wasm")
	// DESIGN §3 measured these flags to be reproducible: no paths, no version
	// control stamp, no symbols, no build id.
	cmd := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -buildid=", "-o", out, "./bindings-src/"+s.Name+"/module")
	cmd.Dir = root
	cmd.Env = environment(os.Environ(), toolchain)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the binding %s with %s: %w\n%s", s.Name, toolchain, err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	packed, err := packing.Module(wasm, manifest, os.DirFS(filepath.Join(root, "schemas", "bundled")))
	if err != nil {
		return nil, fmt.Errorf("packing the binding %s: %w", s.Name, err)
	}
	return packed, nil
}

// environment fixes every variable that could change the bytes.
func environment(base []string, toolchain string) []string {
	fixed := []string{
		"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOTOOLCHAIN=" + toolchain,
		"GOFLAGS=-mod=readonly", "GOWASM=", "GOEXPERIMENT=", "GOWORK=off", "GODEBUG=", "GOFIPS140=off",
	}
	out := slices.DeleteFunc(slices.Clone(base), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(fixed, func(f string) bool { return strings.HasPrefix(f, name+"=") })
	})
	return append(out, fixed...)
}

// All builds every binding and returns them by file name.
func All(ctx context.Context, root string) (map[string][]byte, error) {
	sources, err := Sources(root)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, s := range sources {
		b, err := Build(ctx, root, s)
		if err != nil {
			return nil, err
		}
		out[s.Name+".wasm"] = b
	}
	return out, nil
}

// Compare says how a folder differs from what was built, one sentence a file;
// none when they are the same byte for byte.
func Compare(dir string, built map[string][]byte) ([]string, error) {
	have, err := fs.Glob(os.DirFS(dir), "*.wasm")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range have {
		if _, ok := built[name]; !ok {
			out = append(out, name+" has no source in bindings-src.")
		}
	}
	for name, want := range built {
		got, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out = append(out, name+" is not there.")
		case err != nil:
			return nil, err
		case !bytes.Equal(got, want):
			out = append(out, fmt.Sprintf("%s is not what its source builds: %d bytes there, %d built, first difference at byte %d.", name, len(got), len(want), difference(got, want)))
		}
	}
	slices.Sort(out)
	return out, nil
}

func difference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// Write writes what was built and removes modules without source.
func Write(dir string, built map[string][]byte) error {
	have, err := fs.Glob(os.DirFS(dir), "*.wasm")
	if err != nil {
		return err
	}
	for _, name := range have {
		if _, ok := built[name]; !ok {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	for name, b := range built {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}
