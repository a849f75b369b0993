package schemas_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

// payload is one frame of a recording, cut down to what a schema is about.
type payload struct {
	file   string
	line   int
	dir    schemas.Direction
	kind   schemas.Kind
	method string
	body   []byte
}

// codexRecordings are the folders of recordings and the version they are of.
var codexRecordings = map[string]string{"codex": "0.171.0", "codex-0.153": "0.153.4"}

// recordedVersions are all folders of recordings.
func recordedVersions() map[string]schemas.Reference {
	all := maps.Clone(acpRecordings)
	for folder, version := range codexRecordings {
		all[folder] = schemas.Reference{Provider: "codex", Version: version}
	}
	return all
}

// openBinding opens what a binding of the harness packs.
func openBinding(t testing.TB, harness string) *schemas.Set {
	t.Helper()
	if harness == "codex" {
		return openCodex(t)
	}
	return openACP(t, harness)
}

// readRecordings returns every frame recorded with a version. Results are matched
// with the request they answer by direction and raw id.
func readRecordings(t testing.TB, folder string) []payload {
	t.Helper()
	list, err := schemas.ReadRecordings(os.DirFS(filepath.Join("..", "testdata", "recordings", folder)))
	if err != nil || len(list) == 0 {
		t.Fatalf("no recordings in %s: %v", folder, err)
	}
	out := make([]payload, 0, len(list))
	for _, r := range list {
		out = append(out, payload{file: r.File, line: r.Line, dir: r.Direction, kind: r.Kind, method: r.Method, body: r.Body})
	}
	return out
}

// used is what the Codex binding uses, and what the recordings hold.
var used = schemas.Used{
	Calls: []string{
		"initialize", "model/list", "collaborationMode/list", "thread/start", "thread/resume", "thread/read",
		"thread/items/list", "thread/turns/list", "thread/settings/update", "turn/start", "turn/steer", "turn/interrupt",
	},
	Notifies: []string{"initialized"},
	Requests: []string{
		"item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval",
		"item/tool/requestUserInput", "item/tool/call", "mcpServer/elicitation/request", "applyPatchApproval",
		"execCommandApproval", "account/chatgptAuthTokens/refresh", "attestation/generate",
	},
}

func packCodex(t testing.TB) []byte {
	t.Helper()
	bundles, err := bundled.All("codex")
	if err != nil {
		t.Fatal(err)
	}
	section, err := schemas.Pack(bundles, used)
	if err != nil {
		t.Fatal(err)
	}
	return section
}

func openCodex(t testing.TB) *schemas.Set {
	t.Helper()
	set, err := schemas.Open(packCodex(t))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// brokenByCodex lists frames that real Codex sends against its own schema.
var brokenByCodex = map[string]string{}

func TestEveryCodexRecordingValidates(t *testing.T) {
	set := openCodex(t)
	for folder, version := range codexRecordings {
		v := set.For(version)
		if got := v.Provenance().Version; got != version {
			t.Fatalf("For(%q) gives %q", version, got)
		}
		counts := map[schemas.Kind]int{}
		for _, p := range readRecordings(t, folder) {
			counts[p.kind]++
			err := v.Check(p.dir, p.kind, p.method, p.body)
			if err == nil {
				continue
			}
			var vio *schemas.Violation
			if !errors.As(err, &vio) {
				t.Fatalf("%s:%d: %v", p.file, p.line, err)
			}
			if brokenByCodex[version+" "+p.method+" "+vio.Path] == "" {
				t.Errorf("%s %s:%d: %v", folder, p.file, p.line, err)
			}
		}
		for _, k := range []schemas.Kind{schemas.Request, schemas.Notification, schemas.Result} {
			if counts[k] < 5 {
				t.Errorf("%s: only %d frames of kind %s were checked", folder, counts[k], k)
			}
		}
	}
}
