//go:build unix

package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

func TestNothingInTheBindingsFolderMakesTheHostWaitOrReadWithoutEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	drop := filepath.Join(r.dir, "bindings")
	in := func(name string) string { return filepath.Join(drop, name) }
	huge := func() error {
		if err := os.WriteFile(in("huge.wasm"), nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(in("huge.wasm"), abi.MaxModuleBytes+1)
	}
	err := errors.Join(os.MkdirAll(drop, 0o700), syscall.Mkfifo(in("pipe.wasm"), 0o600), os.Symlink("/dev/zero", in("zero.wasm")),
		os.Symlink("loop.wasm", in("loop.wasm")), os.Symlink(t.TempDir(), in("folder.wasm")), huge())
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.h.Bindings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]host.Code{}
	for _, b := range list {
		if !b.BuiltIn {
			got[filepath.Base(b.Path)] = b.Err.Code
		}
	}
	for name, want := range map[string]host.Code{
		"pipe.wasm": host.CodeModuleInvalid, "zero.wasm": host.CodeModuleInvalid, "folder.wasm": host.CodeModuleInvalid,
		"huge.wasm": host.CodeModuleInvalid, "loop.wasm": host.CodeModuleTruncated,
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	// They are in nobody's way.
	r.untilTurn(r.send("Go").ID, host.TurnCompleted)
}
