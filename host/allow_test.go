package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// drop puts a module of a version into the bindings folder.
func (r *rig) drop(file, version string) {
	r.t.Helper()
	t := r.t.(*testing.T)
	wasm, err := rogueModule()
	if err != nil {
		t.Fatal(err)
	}
	wasm = repack(t, wasm, func(m *abi.Manifest) { m.BindingVersion = version })
	if err := os.WriteFile(filepath.Join(r.dir, "bindings", file), wasm, 0o600); err != nil {
		t.Fatal(err)
	}
}

// allowed is the file that may be used, for a harness that has no built-in binding.
func (r *rig) allowed() string {
	r.t.Helper()
	list, err := r.h.Bindings(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, b := range list {
		if b.Harness == "rogue" && b.Allowed {
			out = append(out, filepath.Base(b.Path))
		}
	}
	return strings.Join(out, " ")
}

func TestAHarnessIDAllowsTheModuleThatWaitsForConsent(t *testing.T) {
	t.Parallel()
	r := newRogueRig(t, echo)
	r.drop("aaa-next.wasm", "0.2.0")
	r.drop("rogue-next.wasm", "0.3.0")
	// Which of the two was meant cannot be known.
	_, err := r.h.AllowBinding(t.Context(), "rogue")
	wantCode(t, err, host.CodeInvalidArgument)
	if !strings.Contains(err.Error(), "aaa-next.wasm, rogue-next.wasm") {
		t.Fatalf("the error names no files: %v", err)
	}
	if got := r.allowed(); got != "rogue.wasm" {
		t.Fatalf("allowed is %q", got)
	}
	if err := os.Remove(filepath.Join(r.dir, "bindings", "aaa-next.wasm")); err != nil {
		t.Fatal(err)
	}
	// The one that was allowed before is not it.
	info, err := r.h.AllowBinding(t.Context(), "rogue")
	if err != nil || info.Manifest.BindingVersion != "0.3.0" || !info.Allowed {
		t.Fatalf("allowed %+v, %v", info.Manifest.BindingVersion, err)
	}
	if got := r.allowed(); got != "rogue-next.wasm" {
		t.Fatalf("allowed is %q", got)
	}
	turn := r.send("Go")
	r.untilTurn(turn.ID, host.TurnCompleted)
	if v := r.controls().Session.BindingVersion; v != "0.3.0" {
		t.Fatalf("the turn ran on version %s", v)
	}
	// Going back is a consent of its own, by file or by digest.
	first, err := r.h.AllowBinding(t.Context(), "rogue.wasm")
	if err != nil || r.allowed() != "rogue.wasm" {
		t.Fatalf("allowed is %q, %v", r.allowed(), err)
	}
	if _, err := r.h.AllowBinding(t.Context(), info.Digest); err != nil || r.allowed() != "rogue-next.wasm" {
		t.Fatalf("allowed is %q, %v", r.allowed(), err)
	}
	if _, err := r.h.AllowBinding(t.Context(), first.Digest); err != nil || r.allowed() != "rogue.wasm" {
		t.Fatalf("allowed is %q, %v", r.allowed(), err)
	}
}
