package host_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab/scripted"
)

// eachACPAgent runs a test on every scripted agent of the Agent Client Protocol: what
// holds for one has to hold for all of them. The short tests take those that differ most.
func eachACPAgent(t *testing.T, test func(t *testing.T, a actor)) {
	t.Helper()
	eachACPAgentButShort(t, []string{scripted.ProfileClaude101, scripted.ProfileGrok}, test)
}

// eachACPAgentOfCase is eachACPAgent for one of several cases: the short tests play each
// case on one of the two, always the same.
func eachACPAgentOfCase(t *testing.T, name string, test func(t *testing.T, a actor)) {
	t.Helper()
	short := []string{scripted.ProfileClaude101, scripted.ProfileGrok}[len(name)%2]
	eachACPAgentButShort(t, []string{short}, test)
}

func eachACPAgentButShort(t *testing.T, short []string, test func(t *testing.T, a actor)) {
	t.Helper()
	n := 0
	for _, a := range actors {
		if a.profile == "" {
			continue
		}
		n++
		if testing.Short() && !slices.Contains(short, a.profile) {
			continue
		}
		t.Run(a.profile, func(t *testing.T) {
			t.Parallel()
			test(t, a)
		})
	}
	if n != len(scripted.Profiles) {
		t.Errorf("%d of %d profiles", n, len(scripted.Profiles))
	}
}

// newACPRig opens a host on a scripted agent that plays a script, which is JSON.
func newACPRig(t *testing.T, a actor, script string, opts ...func(*host.Config)) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), cwd: projectDir(t), home: t.TempDir()}
	r.acpScript(script)
	if err := os.Chmod(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.actor(a.harness, json.RawMessage(script), []string{"acp", "--profile", a.profile, "--home", r.home}, opts...)
	return r
}

// acpScript writes the script that the next process follows.
func (r *rig) acpScript(script string) {
	r.t.Helper()
	if _, err := scripted.ParseACP([]byte(script)); err != nil {
		r.t.Fatalf("the test's script: %v", err)
	}
	if err := os.WriteFile(filepath.Join(r.home, "scripted.json"), []byte(script), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// called counts the calls of a method on the agent's side.
func (r *rig) called(method string) int {
	r.t.Helper()
	b, err := os.ReadFile(r.calls())
	if err != nil {
		r.t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		if strings.TrimSpace(line) == method {
			n++
		}
	}
	return n
}
