package schemas_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/lab"
	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/schemas/bundled"
)

// fakeNpm does what `npm pack` does with the package in the folder of the
// environment variable SCHEMAS_TEST_DATA, or with a part of it.
func fakeNpm(mode string, args []string) int {
	if len(args) != 5 || args[0] != "pack" || args[2] != "--ignore-scripts" || args[3] != "--pack-destination" {
		fmt.Fprintf(os.Stderr, "this npm knows no %q\n", args)
		return 1
	}
	if args[1] != "@agentclientprotocol/sdk@9.2.0" && args[1] != "@agentclientprotocol/sdk" {
		fmt.Fprintf(os.Stderr, "404 no such package: %s\n", args[1])
		return 1
	}
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	tw := tar.NewWriter(zw)
	root := os.DirFS(os.Getenv("SCHEMAS_TEST_DATA"))
	for _, name := range []string{"LICENSE", "package.json", "schema/v1/schema.json", "schema/v1/schema.unstable.json"} {
		if mode == "npm-lacks" && strings.HasSuffix(name, "unstable.json") {
			continue
		}
		text := []byte("text")
		if f, err := root.Open(name); err == nil {
			text, _ = io.ReadAll(f)
			_ = f.Close()
		}
		_ = tw.WriteHeader(&tar.Header{Name: "package/" + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))})
		_, _ = tw.Write(text)
	}
	_ = tw.Close()
	_ = zw.Close()
	if mode == "npm-cut" {
		out.Truncate(out.Len() / 2)
	}
	if mode == "npm-silent" {
		return 0
	}
	if err := os.WriteFile(filepath.Join(args[4], "agentclientprotocol-sdk-9.2.0.tgz"), out.Bytes(), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func generateACP(t *testing.T, mode string, opts schemas.GenerateOptions) (schemas.Bundle, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := filepath.Abs(filepath.Join("testdata", "acp"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SCHEMAS_TEST_GENERATOR", mode)
	t.Setenv("SCHEMAS_TEST_DATA", data)
	opts.Provider, opts.Command, opts.Timeout = "acp", []string{self}, time.Minute
	opts.Now = func() time.Time { return time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC) }
	return schemas.Generate(t.Context(), opts)
}

func TestGenerateReadsTheMethodTableOffThePublishedPackage(t *testing.T) {
	out := t.TempDir()
	if _, err := generateACP(t, "npm", schemas.GenerateOptions{PackageVersion: "9.2.0", Out: out}); err != nil {
		t.Fatal(err)
	}
	b, err := schemas.Read(os.DirFS(out), "acp", "9.2.0")
	if err != nil {
		t.Fatal(err)
	}
	p := b.Provenance
	if p.Provider != "acp" || p.Version != "9.2.0" || p.Package != "@agentclientprotocol/sdk" || p.Generated != "2026-03-01" || p.Licence != "Apache-2.0" ||
		strings.Join(p.Command, " ") != "npm pack @agentclientprotocol/sdk@9.2.0" {
		t.Errorf("provenance %+v", p)
	}
	if len(p.Notes) != 2 || !strings.Contains(p.Notes[0], "proxy/relay") {
		t.Errorf("notes %q, want one about what was left out", p.Notes)
	}
	var rows []string
	for _, m := range b.Methods {
		rows = append(rows, fmt.Sprint(m.Name, " ", m.Direction, " ", m.Kind, " ", string(m.Params), " ", m.ParamsOptional, " ", string(m.Result), " ", m.Experimental))
	}
	want := []string{
		`$/cancel to_provider notification {"$ref":"#/definitions/CancelNotification"} false  false`,
		`$/cancel from_provider notification {"$ref":"#/definitions/CancelNotification"} false  false`,
		`ask from_provider request {"$ref":"#/definitions/AskRequest"} false {"$ref":"#/definitions/AskResponse"} false`,
		`fork to_provider request {"$ref":"#/definitions/ForkRequest"} false {"$ref":"#/definitions/ForkResponse"} true`,
		`load to_provider request {"$ref":"#/definitions/LoadRequest"} false {"anyOf":[{"$ref":"#/definitions/LoadResponse"},{"type":"null"}]} false`,
		`new to_provider request {"$ref":"#/definitions/NewRequest"} true {"$ref":"#/definitions/NewResponse"} false`,
		`update from_provider notification {"$ref":"#/definitions/UpdateNotification"} false  false`,
	}
	if !slices.Equal(rows, want) {
		t.Errorf("methods:\n%s\nwant:\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	for name, want := range map[string]string{
		"How":          `{"enum":["fast","slow"],"type":"string"}`,
		"AskRequest":   `{"properties":{"how":{"$ref":"#/definitions/How"}},"required":["how"],"type":"object"}`,
		"AskResponse":  `{"properties":{"_meta":{"type":["object","null"],"x-deserialize-default-on-error":true}},"type":"object"}`,
		"LoadResponse": `{"properties":{"modes":{"items":{"type":"string"},"type":"array","x-deserialize-skip-invalid-items":true}},"type":"object"}`,
	} {
		if got := string(b.Definitions[name]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if names := slices.Sorted(maps.Keys(b.Definitions)); slices.Contains(names, "AgentRequest") || slices.Contains(names, "RelayRequest") {
		t.Errorf("definitions that no method leads to are kept: %q", names)
	}
}

func TestGenerateGivesTheSameFromAnInstalledCopyOfThePackage(t *testing.T) {
	packed, err := generateACP(t, "npm", schemas.GenerateOptions{PackageVersion: "9.2.0"})
	if err != nil {
		t.Fatal(err)
	}
	newest, err := generateACP(t, "npm", schemas.GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// With a folder no program is run: this one would fail.
	copied, err := generateACP(t, "fail", schemas.GenerateOptions{PackageDir: filepath.Join("testdata", "acp")})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(packed.Provenance)
	for what, b := range map[string]schemas.Bundle{"the newest version": newest, "an installed copy": copied} {
		if z, _ := json.Marshal(b.Provenance); string(a) != string(z) {
			t.Errorf("%s: %s, want %s", what, z, a)
		}
	}
}

func TestGenerateSaysWhatIsWrongWithAPackage(t *testing.T) {
	for mode, code := range map[string]string{
		"npm-lacks": schemas.CodeGeneratorOutput, "npm-cut": schemas.CodeGeneratorOutput, "npm-silent": schemas.CodeGeneratorOutput, "fail": schemas.CodeGeneratorFailed,
	} {
		_, err := generateACP(t, mode, schemas.GenerateOptions{PackageVersion: "9.2.0"})
		wantCode(t, err, code)
	}
	_, err := generateACP(t, "npm", schemas.GenerateOptions{PackageVersion: "9.3.0"})
	if m := wantCode(t, err, schemas.CodeGeneratorFailed); !strings.Contains(m, "404") {
		t.Errorf("does not hold what npm printed: %s", m)
	}
	_, err = generateACP(t, "npm", schemas.GenerateOptions{PackageVersion: "1.0.0 --registry=http://127.0.0.1"})
	wantCode(t, err, schemas.CodeGeneratorFailed)

	// A copy with one thing changed.
	good := map[string]string{}
	for _, name := range []string{"package.json", "schema/v1/schema.json", "schema/v1/schema.unstable.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", "acp", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		good[name] = string(text)
	}
	for what, c := range map[string]struct{ file, from, to, names string }{
		"another package":          {"package.json", "agentclientprotocol", "somebody", "@agentclientprotocol/sdk"},
		"another licence":          {"package.json", "Apache-2.0", "SSPL-1.0", "SSPL-1.0"},
		"no version":               {"package.json", "9.2.0", "newest", "@agentclientprotocol/sdk"},
		"no JSON":                  {"schema/v1/schema.unstable.json", "{", "", "schema.unstable.json"},
		"an unknown side":          {"schema/v1/schema.unstable.json", `"x-side": "client"`, `"x-side": "server"`, "server"},
		"a request and no answer":  {"schema/v1/schema.unstable.json", `"ForkResponse": {"type": "object", "x-side": "agent", "x-method": "fork"`, `"ForkResponse": {"type": "object"`, "fork"},
		"no methods":               {"schema/v1/schema.unstable.json", "x-method", "x-metod", "method"},
		"a part in the stable one": {"schema/v1/schema.json", `"How": {`, `"Who": {}, "How": {`, "Who"},
	} {
		dir := t.TempDir()
		for name, text := range good {
			if name == c.file {
				changed := strings.ReplaceAll(text, c.from, c.to)
				if changed == text {
					t.Fatalf("%s: nothing is changed", what)
				}
				text = changed
			}
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := generateACP(t, "fail", schemas.GenerateOptions{PackageDir: dir})
		if m := wantCode(t, err, schemas.CodeGeneratorOutput); !strings.Contains(m, c.names) {
			t.Errorf("%s: %q does not name %q", what, m, c.names)
		}
	}
	_, err = generateACP(t, "fail", schemas.GenerateOptions{PackageDir: t.TempDir()})
	wantCode(t, err, schemas.CodeGeneratorOutput)
}

// The lab installs the package with a harness that depends on it.
func TestCommittedACPBundlesAreWhatThePublishedPackageHolds(t *testing.T) {
	lab.Require(t, "claude", lab.ClaudeVersions[0])
	fresh, err := schemas.Generate(t.Context(), schemas.GenerateOptions{
		Provider: "acp", PackageDir: filepath.Join("..", "lab", "node_modules", "@agentclientprotocol", "sdk"),
	})
	if err != nil {
		t.Fatal(err)
	}
	committed, err := bundled.Read("acp", fresh.Provenance.Version)
	if err != nil {
		t.Fatal(err)
	}
	fresh.Provenance.Generated = committed.Provenance.Generated
	a, _ := json.Marshal(fresh.Provenance)
	b, _ := json.Marshal(committed.Provenance)
	if string(a) != string(b) {
		t.Errorf("generated now:\n%s\ncommitted:\n%s\nRun `ao-host schemas generate acp` with this version.", a, b)
	}
}

// A binding that keeps to the stable schema is right by the joined one, and what
// it reads by the stable schema is there.
func TestTheUnstableSchemaOnlyAddsToTheStableOne(t *testing.T) {
	lab.Require(t, "claude", lab.ClaudeVersions[0])
	installed := filepath.Join("..", "lab", "node_modules", "@agentclientprotocol", "sdk")
	dir := t.TempDir()
	for to, from := range map[string]string{
		"package.json": "package.json", "schema/v1/schema.json": "schema/v1/schema.json", "schema/v1/schema.unstable.json": "schema/v1/schema.json",
	} {
		text, err := os.ReadFile(filepath.Join(installed, from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "schema", "v1"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(to)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stable, err := schemas.Generate(t.Context(), schemas.GenerateOptions{Provider: "acp", PackageDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	joined, err := schemas.Generate(t.Context(), schemas.GenerateOptions{Provider: "acp", PackageDir: installed})
	if err != nil {
		t.Fatal(err)
	}
	if len(stable.Methods) < 20 {
		t.Fatalf("only %d methods are stable", len(stable.Methods))
	}
	for _, m := range stable.Methods {
		if got, ok := joined.Method(m.Name, m.Direction, m.Kind); !ok || got.Experimental {
			t.Errorf("the stable %s is experimental or gone", m.Name)
		}
	}
	adds := []string{schemas.ChangeMethodAdded, schemas.ChangeAdded, schemas.ChangeFormAdded}
	for _, c := range schemas.Diff(stable, joined, nil).Changes {
		more := slices.Contains(adds, c.What) || c.What == schemas.ChangeValues && c.From == ""
		if !more || c.Breaking && c.Direction == to {
			t.Errorf("%+v", c)
		}
	}
}
