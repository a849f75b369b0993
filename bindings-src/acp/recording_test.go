package acp_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// wishes says what the recorded client wanted where its setters do not tell: it tried
// values that are refused.
var wishes = map[string]map[int]abi.Settings{
	"claude/config-options":       {1: {Mode: "plan", Model: "haiku"}},
	"claude-0.101/config-options": {1: {Mode: "plan", Model: "haiku", Effort: "max"}},
	"claude/cancel-mid-turn":      {1: {Permission: abi.PermissionDefault}},
	"claude-0.101/plan-reject":    {2: {Mode: "plan"}},
	"kimchi/plan-questionnaire":   {1: {Mode: "plan", Model: "fake/basic"}},
	"kimchi/cancel-mid-turn":      {1: {Model: "fake/basic"}},
}

func nativeMode(a *agent) func(string, *abi.Settings) {
	return func(native string, s *abi.Settings) {
		if native == "plan" {
			s.Mode = native
			return
		}
		for p, mode := range a.native {
			if mode == native && (s.Permission == "" || native != "default") {
				s.Mode, s.Permission = "", p
			}
		}
		if native == "default" {
			s.Permission = abi.PermissionDefault
		}
	}
}

func eachRecording(t *testing.T, test func(t *testing.T, a *agent, name, file string)) {
	t.Helper()
	n := 0
	for dir, a := range map[string]*agent{"claude": claudeAgent, "claude-0.101": claudeAgent, "grok": grokAgent, "kimchi": kimchiAgent} {
		files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "recordings", dir, "*.ndjson"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			n++
			name := dir + "/" + strings.TrimSuffix(filepath.Base(f), ".ndjson")
			t.Run(name, func(t *testing.T) { test(t, a, name, f) })
		}
	}
	if n < 16 {
		t.Fatalf("only %d recordings found", n)
	}
}

func TestRecordingsGiveTheSameEffectsAsEver(t *testing.T) {
	eachRecording(t, func(t *testing.T, a *agent, name, file string) {
		r := acptest.Play(t, file, a.new, schemasOf(t, a), false, nativeMode(a), wishes[name])
		golden := filepath.Join("testdata", "golden", strings.ReplaceAll(name, "/", "-")+".txt")
		if *update {
			if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(golden, r.Log, 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(r.Log), "\n")); diff != "" {
			t.Errorf("(-golden +got, rewrite with -update):\n%s", diff)
		}
	})
}

func TestSaveAndLoadAfterEveryEventEqualsNeverSave(t *testing.T) {
	eachRecording(t, func(t *testing.T, a *agent, name, file string) {
		never := acptest.Play(t, file, a.new, nil, false, nativeMode(a), wishes[name])
		always := acptest.Play(t, file, a.new, nil, true, nativeMode(a), wishes[name])
		if string(never.Log) != string(always.Log) {
			t.Error(cmp.Diff(strings.Split(string(never.Log), "\n"), strings.Split(string(always.Log), "\n")))
		}
		if string(never.Save()) != string(always.Save()) {
			t.Error("the states differ at the end")
		}
	})
}

// Every turn of a recording ends once, and nothing is left asking for an answer.
func TestRecordingsEndTheirTurnsOnce(t *testing.T) {
	eachRecording(t, func(t *testing.T, a *agent, name, file string) {
		r := acptest.Play(t, file, a.new, nil, false, nativeMode(a), wishes[name])
		ended := map[string]int{}
		for _, e := range acptest.Only(r.All, acptest.Ended) {
			ended[e.Turn]++
		}
		accepted := 0
		for _, d := range acptest.Only(r.All, acptest.Delivery) {
			if d.Status != abi.DeliveryAccepted {
				t.Errorf("delivery %+v", d)
				continue
			}
			accepted++
			if ended[d.Turn] != 1 {
				t.Errorf("turn %s ended %d times", d.Turn, ended[d.Turn])
			}
		}
		if accepted == 0 || len(r.Calls) != 0 {
			t.Errorf("%d deliveries, %d calls without an answer", accepted, len(r.Calls))
		}
		opened, replied := len(acptest.Only(r.All, acptest.Opened)), len(acptest.Only(r.All, acptest.Reply))
		if closed := len(acptest.Only(r.All, acptest.Closed)); opened != replied+closed {
			t.Errorf("%d interactions, %d replies, %d closed", opened, replied, closed)
		}
	})
}
