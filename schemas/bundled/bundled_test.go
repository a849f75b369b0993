package bundled_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

func TestEveryCommittedBundleBelongsToItsProvenance(t *testing.T) {
	list, err := bundled.List()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list {
		names = append(names, p.Provider+" "+p.Version)
		// Read joins the bundle with the one it extends.
		if _, err := bundled.Read(p.Provider, p.Version); err != nil {
			t.Errorf("%s %s: %v", p.Provider, p.Version, err)
			continue
		}
		var files [2][]byte
		for i, name := range []string{schemas.BundleFile, schemas.ProvenanceFile} {
			if files[i], err = fs.ReadFile(bundled.FS(), p.Provider+"/"+p.Version+"/"+name); err != nil {
				t.Fatal(err)
			}
		}
		// ReadBundle compares the digest and follows every reference.
		b, err := schemas.ReadBundle(files[0], files[1])
		if err != nil {
			t.Errorf("%s %s: %v", p.Provider, p.Version, err)
			continue
		}
		for what, v := range map[string]string{
			"package": p.Package, "day": p.Generated, "digest": p.Digest, "source digest": p.SourceDigest,
			"licence": p.Licence, "changes": p.Changes, "command": strings.Join(p.Command, " "),
		} {
			if v == "" {
				t.Errorf("%s %s: the provenance has no %s", p.Provider, p.Version, what)
			}
		}
		text, err := b.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != string(files[0]) {
			t.Errorf("%s %s: reading and writing the bundle changes it", p.Provider, p.Version)
		}
		for _, word := range []string{`"description":"`, `"title":"`, `"examples":[`} {
			if strings.Contains(string(text), word) {
				t.Errorf("%s %s: holds %s", p.Provider, p.Version, word)
			}
		}
	}
	want := []string{
		"acp 2.4.0", "claude 0.49.0", "claude 0.101.0", "codex 0.153.4", "codex 0.171.0", "grok 1.0.41", "kimchi 0.0.0-20260821",
	}
	if !slices.Equal(names, want) {
		t.Errorf("List() gives %q, want %q", names, want)
	}
}

func TestAllGivesTheVersionsOfOneProviderOldestFirst(t *testing.T) {
	all, err := bundled.All("codex")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Provenance.Version != "0.153.4" || all[1].Provenance.Version != "0.171.0" {
		t.Errorf("%d bundles", len(all))
	}
	if none, err := bundled.All("nobody"); err != nil || none != nil {
		t.Errorf("%v %v", none, err)
	}
}

func TestReadingAVersionThatIsNotThereSaysSo(t *testing.T) {
	for _, version := range []string{"0.1.0", "../codex/0.171.0", ""} {
		_, err := bundled.Read("codex", version)
		var e *schemas.Error
		if !errors.As(err, &e) || e.Code != schemas.CodeBundleInvalid {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// The generator does not say which result belongs to which request. That the
// rule and the table of exceptions find the right ones shows in that every
// result is found and none is left over; the recordings show it for the methods
// a binding uses.
func TestEveryRequestOfCodexHasItsResultAndNoResultIsLeftOver(t *testing.T) {
	all, err := bundled.All("codex")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		reached := map[string]int{}
		for _, m := range b.Methods {
			if m.Kind != schemas.Request {
				if m.Result != nil {
					t.Errorf("the notification %s has a result", m.Name)
				}
				continue
			}
			var ref struct {
				Ref string `json:"$ref"`
			}
			if m.Result == nil {
				if !slices.ContainsFunc(b.Provenance.Notes, func(n string) bool { return strings.Contains(n, m.Name) }) {
					t.Errorf("%s: %s has no result and no note says so", b.Provenance.Version, m.Name)
				}
				continue
			}
			if err := json.Unmarshal(m.Result, &ref); err != nil {
				t.Fatal(err)
			}
			reached[strings.TrimPrefix(ref.Ref, "#/definitions/")]++
		}
		for name := range b.Definitions {
			// JSONRPCResponse is the envelope.
			if strings.HasSuffix(name, "Response") && name != "JSONRPCResponse" && reached[name] == 0 {
				t.Errorf("%s: %s is the result of no request", b.Provenance.Version, name)
			}
		}
		// Requests that come in two forms with one result.
		shared := []string{"ConfigWriteResponse", "ThreadSearchResponse", "ThreadSearchCancelResponse"}
		for name, n := range reached {
			if n > 1 && !slices.Contains(shared, name) {
				t.Errorf("%s: %s is the result of %d requests", b.Provenance.Version, name, n)
			}
		}
	}
}

func TestABundleThatWasChangedByHandIsRefused(t *testing.T) {
	var files [2][]byte
	for i, name := range []string{schemas.BundleFile, schemas.ProvenanceFile} {
		text, err := fs.ReadFile(bundled.FS(), "codex/0.171.0/"+name)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = text
	}
	if _, err := schemas.ReadBundle(files[0], files[1]); err != nil {
		t.Fatal(err)
	}
	changed := []byte(strings.Replace(string(files[0]), `"threadId"`, `"threadID"`, 1))
	for name, pair := range map[string][2][]byte{
		"another bundle": {changed, files[1]}, "no bundle": {[]byte("x"), files[1]}, "no provenance": {files[0], []byte("x")},
	} {
		_, err := schemas.ReadBundle(pair[0], pair[1])
		var e *schemas.Error
		if !errors.As(err, &e) || e.Code != schemas.CodeBundleInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
