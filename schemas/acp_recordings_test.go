package schemas_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

// acpRecordings are the folders of recordings and the harness and version they
// are of.
var acpRecordings = map[string]schemas.Reference{
	"claude":       {Provider: "claude", Version: "0.49.0"},
	"claude-0.101": {Provider: "claude", Version: "0.101.0"},
	"grok":         {Provider: "grok", Version: "1.0.41"},
	"kimchi":       {Provider: "kimchi", Version: "0.0.0-20260821"},
}

// acpUsed is what a binding of an ACP harness uses, and what the recordings hold.
func acpUsed(harness string) schemas.Used {
	u := schemas.Used{
		Calls: []string{
			"initialize", "authenticate", "session/new", "session/load", "session/resume", "session/list", "session/close",
			"session/prompt", "session/set_mode", "session/set_config_option", "session/set_model",
		},
		Notifies: []string{"session/cancel", "$/cancel_request"},
		Requests: []string{
			"session/request_permission", "elicitation/create", "fs/read_text_file", "fs/write_text_file", "terminal/create",
			"terminal/output", "terminal/release", "terminal/wait_for_exit", "terminal/kill",
		},
	}
	if harness == "grok" {
		u.Requests = append(u.Requests, "_x.ai/ask_user_question", "x.ai/ask_user_question", "_x.ai/exit_plan_mode", "x.ai/exit_plan_mode")
	}
	return u
}

func packACP(t testing.TB, harness string) []byte {
	t.Helper()
	bundles, err := bundled.All(harness)
	if err != nil {
		t.Fatal(err)
	}
	section, err := schemas.Pack(bundles, acpUsed(harness))
	if err != nil {
		t.Fatal(err)
	}
	return section
}

func openACP(t testing.TB, harness string) *schemas.Set {
	t.Helper()
	set, err := schemas.Open(packACP(t, harness))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// brokenByAgents lists the frames that real agents send against the schema, by
// harness, version, method and place, with the reason. There is none.
var brokenByAgents = map[string]string{}

func TestEveryACPRecordingValidatesInBothDirections(t *testing.T) {
	used := map[string]bool{}
	for folder, ref := range acpRecordings {
		v := openACP(t, ref.Provider).For(ref.Version)
		if got := v.Provenance().Version; got != ref.Version {
			t.Fatalf("For(%q) gives %q", ref.Version, got)
		}
		counts := map[string]int{}
		for _, p := range readRecordings(t, folder) {
			counts[fmt.Sprint(p.dir, " ", p.kind)]++
			err := v.Check(p.dir, p.kind, p.method, p.body)
			if err == nil {
				continue
			}
			var vio *schemas.Violation
			if !errors.As(err, &vio) {
				t.Fatalf("%s:%d: %v", p.file, p.line, err)
			}
			key := fmt.Sprint(ref.Provider, " ", ref.Version, " ", p.method, " ", vio.Path)
			if used[key] = true; brokenByAgents[key] == "" {
				t.Errorf("%s %s:%d: %v", folder, p.file, p.line, err)
			}
		}
		for what, least := range map[string]int{
			"to_provider request": 10, "to_provider result": 4, "from_provider request": 4, "from_provider result": 10, "from_provider notification": 50,
		} {
			if counts[what] < least {
				t.Errorf("%s: only %d frames were a %s", folder, counts[what], what)
			}
		}
	}
	for key := range brokenByAgents {
		if !used[key] {
			t.Errorf("%s is listed as broken and is not", key)
		}
	}
}

func TestEveryFolderOfRecordingsIsOfAKnownVersion(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join("..", "testdata", "recordings", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		name := filepath.Base(f)
		if codexRecordings[name] == "" && acpRecordings[name].Version == "" {
			t.Errorf("nobody says which version %s is of", name)
		}
	}
}
