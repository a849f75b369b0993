package schemas_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
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

// readRecordings returns every frame recorded with a version. Results are matched
// with the request they answer by direction and raw id.
func readRecordings(t testing.TB, folder string) []payload {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "recordings", folder, "*.ndjson"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", folder, err)
	}
	var out []payload
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		asked := map[schemas.Direction]map[string]string{schemas.ToProvider: {}, schemas.FromProvider: {}}
		sc := bufio.NewScanner(bytes.NewReader(text))
		sc.Buffer(nil, 1<<20)
		for line := 1; sc.Scan(); line++ {
			var rec struct {
				Dir   string
				Frame struct {
					ID                    json.RawMessage
					Method                string
					Params, Result, Error json.RawMessage
				}
			}
			if err := json.Unmarshal(sc.Bytes(), &rec); err != nil {
				t.Fatalf("%s:%d: %v", name, line, err)
			}
			p := payload{file: filepath.Base(name), line: line, method: rec.Frame.Method, body: rec.Frame.Params}
			var peer schemas.Direction
			switch rec.Dir {
			case "in":
				p.dir, peer = schemas.ToProvider, schemas.FromProvider
			case "out":
				p.dir, peer = schemas.FromProvider, schemas.ToProvider
			default:
				continue
			}
			id := string(rec.Frame.ID)
			switch {
			case p.method != "" && id != "":
				p.kind = schemas.Request
				asked[p.dir][id] = p.method
			case p.method != "":
				p.kind = schemas.Notification
			case rec.Frame.Result != nil:
				p.kind, p.body, p.method = schemas.Result, rec.Frame.Result, asked[peer][id]
			case rec.Frame.Error != nil:
				p.kind, p.body, p.method = schemas.ErrorObject, rec.Frame.Error, asked[peer][id]
			default:
				t.Fatalf("%s:%d: not a frame", name, line)
			}
			if p.method == "" {
				t.Fatalf("%s:%d: an answer to no request", name, line)
			}
			out = append(out, p)
		}
		if err := sc.Err(); err != nil {
			t.Fatal(err)
		}
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
	folders, err := filepath.Glob(filepath.Join("..", "testdata", "recordings", "codex*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if codexRecordings[filepath.Base(f)] == "" {
			t.Errorf("nobody says which version %s is of", f)
		}
	}
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
