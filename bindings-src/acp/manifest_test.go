package acp_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/bindings-src/acp"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
)

func readManifest(t *testing.T, a *agent) (m abi.Manifest) {
	t.Helper()
	b, err := os.ReadFile(a.manifest)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTheManifestsAreValidAndNameTheStateVersion(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		m := readManifest(t, a)
		if err := module.Validate(m); err != nil {
			t.Error(err)
		}
		if m.StateVersion != acp.StateVersion || m.Harness != a.name || !m.Framing.JSONRPC {
			t.Errorf("manifest %+v", m)
		}
	})
}

// The methods that all dialects call are those of the shared source; set_model is for
// the one that has it.
func TestTheManifestsNameTheMethodsThatTheReducerUses(t *testing.T) {
	s := parseSource(t)
	calls := s.literalMethods("Call")
	eachAgent(t, func(t *testing.T, a *agent) {
		m := readManifest(t, a)
		want := slices.Clone(calls)
		if a != grokAgent {
			want = slices.DeleteFunc(want, func(n string) bool { return n == "session/set_model" })
		}
		if diff := cmp.Diff(want, m.Calls); diff != "" {
			t.Errorf("calls (-source +manifest):\n%s", diff)
		}
		if diff := cmp.Diff(s.literalMethods("Notify"), m.Notifies); diff != "" {
			t.Errorf("notifies (-source +manifest):\n%s", diff)
		}
	})
}

// The host takes a reply to an interactive request only from the step of its answer or
// withdrawal.
func TestTheManifestsTellWhichRequestsAPersonAnswers(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		for _, q := range readManifest(t, a).Requests {
			r := begin(t, a, abi.Settings{})
			_, effects := r.Ask("1", q.Method, `{"sessionId":"s-1"}`)
			interactions, replies := len(acptest.Only(effects, acptest.Opened)), len(acptest.Only(effects, acptest.Reply))
			if !q.Interactive || interactions != 1 || replies != 0 {
				t.Errorf("%s (interactive %v): %d interactions, %d replies", q.Method, q.Interactive, interactions, replies)
			}
		}
	})
}

func TestNoManifestPassesACredentialByName(t *testing.T) {
	eachAgent(t, func(t *testing.T, a *agent) {
		m := readManifest(t, a)
		for _, v := range m.Launch.SetEnv {
			if strings.Contains(v.Name, "KEY") || strings.Contains(v.Name, "TOKEN") {
				t.Errorf("%s is set", v.Name)
			}
		}
		if len(m.Launch.SignIn) == 0 || m.Launch.InstallHint == "" || !m.Launch.StopEndsProcess {
			t.Errorf("launch %+v", m.Launch)
		}
	})
}
