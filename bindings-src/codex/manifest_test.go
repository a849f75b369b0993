package codex_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/module"
	"github.com/aoagents/ao-host/bindings-src/codex"
)

func readManifest(t *testing.T) (m abi.Manifest) {
	t.Helper()
	b, err := os.ReadFile("manifest.json")
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

func TestTheManifestIsValidAndNamesTheStateVersion(t *testing.T) {
	m := readManifest(t)
	if err := module.Validate(m); err != nil {
		t.Error(err)
	}
	if m.StateVersion != codex.StateVersion {
		t.Errorf("state_version = %d, the reducer writes %d", m.StateVersion, codex.StateVersion)
	}
}

func TestTheManifestNamesTheMethodsThatTheReducerUses(t *testing.T) {
	m := readManifest(t)
	src := parseSource(t)
	if diff := cmp.Diff(m.Calls, src.literalMethods("Call")); diff != "" {
		t.Errorf("calls (-manifest +source):\n%s", diff)
	}
	if diff := cmp.Diff(m.Notifies, src.literalMethods("Notify")); diff != "" {
		t.Errorf("notifies (-manifest +source):\n%s", diff)
	}
}

// The host takes a reply to an interactive request only from the step of its
// answer or withdrawal; to the others nobody but the binding replies.
func TestTheManifestTellsWhichRequestsAPersonAnswers(t *testing.T) {
	for _, q := range readManifest(t).Requests {
		r := running(t)
		_, effects := r.ask("1", q.Method, `{"threadId":"thread-1","turnId":"n1"}`)
		interactions, replies := len(only(effects, opened)), len(only(effects, reply))
		if q.Interactive && (interactions != 1 || replies != 0) || !q.Interactive && (interactions != 0 || replies != 1) {
			t.Errorf("%s (interactive %v): %d interactions, %d replies", q.Method, q.Interactive, interactions, replies)
		}
	}
}

// A request that the provider's schemas know must not be left to chance.
func TestTheManifestNamesEveryRequestOfTheSchemas(t *testing.T) {
	var named []string
	for _, q := range readManifest(t).Requests {
		named = append(named, q.Method)
	}
	for _, method := range serverRequests(t) {
		if !slices.Contains(named, method) {
			t.Errorf("%s is not in the manifest", method)
		}
	}
}
