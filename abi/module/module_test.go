package module_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/module"
)

// leb and custom build sections by hand, so that the tests do not lean on the
// code they test.
func leb(n int) []byte {
	var b []byte
	for {
		c := byte(n & 0x7f)
		if n >>= 7; n == 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func custom(name string, data ...byte) []byte {
	body := append(append(leb(len(name)), name...), data...)
	return append(append([]byte{0}, leb(len(body))...), body...)
}

func core(sections ...[]byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"), bytes.Join(sections, nil)...)
}

// types is a type section with the type func().
var types = []byte{1, 4, 1, 0x60, 0, 0}

const manifest = `{
	"harness": "demo", "title": "Demo agent", "binding_version": "1.2.0", "abi": {"min": "0.1", "max": "0.1"}, "state_version": 1,
	"launch": {"argv": ["demo", "--cwd={cwd}"]},
	"framing": {"jsonrpc": true},
	"provider": {"versions": ["1.0"], "min": "1.0", "max": "1.0"},
	"capabilities": {"steering": "none"},
	"vocabulary": {"permissions": ["default"]},
	"calls": ["turn/start"],
	"limits": {}
}`

func valid(t *testing.T) abi.Manifest {
	t.Helper()
	m, err := module.DecodeManifest([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// hasCode asserts that err carries a code and a sentence.
func hasCode(t *testing.T, err error, want module.Code) {
	t.Helper()
	_ = code(t, err, want)
}

// code asserts that err carries a code and a sentence and returns the error.
func code(t *testing.T, err error, want module.Code) *module.Error {
	t.Helper()
	var e *module.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want code %s", err, want)
	}
	if e.Code != want || e.ErrorCode() != string(want) || e.Error() == "" {
		t.Fatalf("error %s %q, want code %s", e.Code, e, want)
	}
	return e
}

func TestSectionsYieldsEverySectionInOrder(t *testing.T) {
	long := bytes.Repeat([]byte{7}, 300)
	wasm := core(custom("first", 1, 2), types, custom("", long...), custom("last"))
	var got []module.Section
	for s, err := range module.Sections(wasm) {
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasSuffix(wasm[s.Start:s.End], s.Data) {
			t.Errorf("section %q: the data are not at the end of %d:%d", s.Name, s.Start, s.End)
		}
		got = append(got, s)
	}
	want := []module.Section{
		{ID: 0, Name: "first", Data: []byte{1, 2}, Start: 8, End: 18},
		{ID: 1, Data: types[2:], Start: 18, End: 24},
		{ID: 0, Name: "", Data: long, Start: 24, End: 24 + 304},
		{ID: 0, Name: "last", Data: []byte{}, Start: 328, End: 335},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	for s, err := range module.Sections(wasm) {
		if err != nil || s.Name != "first" {
			t.Fatalf("section %q, error %v", s.Name, err)
		}
		break // must not go on after the loop was left
	}
}

func TestAModuleThatIsNotOneIsRefusedWithWhatToDo(t *testing.T) {
	full := core(types, custom("ao.manifest", []byte(manifest)...))
	for name, c := range map[string]struct {
		wasm []byte
		code module.Code
		say  string
	}{
		"empty":             {nil, module.CodeForeign, "ao-host bindings pack"},
		"text":              {[]byte("#!/bin/sh\necho hello\n"), module.CodeForeign, "ao-host bindings pack"},
		"elf":               {[]byte("\x7fELF\x02\x01\x01\x00"), module.CodeForeign, "not a WebAssembly module"},
		"half a preamble":   {[]byte("\x00asm\x01"), module.CodeTruncated, "copy or build it again"},
		"version 2":         {[]byte("\x00asm\x02\x00\x00\x00"), module.CodeForeign, "version 2"},
		"layer 7":           {[]byte("\x00asm\x01\x00\x07\x00"), module.CodeForeign, "layer 7"},
		"component":         {[]byte("\x00asm\x0d\x00\x01\x00"), module.CodeComponent, "core module"},
		"only an id":        {core([]byte{1}), module.CodeTruncated, "byte 8"},
		"size beyond end":   {core([]byte{1, 5, 0}), module.CodeTruncated, "byte 8"},
		"size of six bytes": {core([]byte{1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}), module.CodeTruncated, "byte 8"},
		"size of 4 GiB":     {core([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f}), module.CodeTruncated, "byte 8"},
		"name beyond end":   {core([]byte{0, 2, 9, 'a'}), module.CodeTruncated, "byte 10"},
		"name one too long": {core([]byte{0, 2, 2, 'a'}), module.CodeTruncated, "byte 10"},
		"custom of size 0":  {core([]byte{0, 0}), module.CodeTruncated, "byte 10"},
		"one byte short":    {full[:len(full)-1], module.CodeTruncated, "byte 14"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := module.ReadManifest(c.wasm)
			if e := code(t, err, c.code); !strings.Contains(e.Error(), c.say) {
				t.Errorf("%q does not say %q", e, c.say)
			}
			_, err = module.ReadSchemas(c.wasm)
			hasCode(t, err, c.code)
			_, err = module.Pack(c.wasm, []byte(manifest), nil)
			hasCode(t, err, c.code)
		})
	}
}

func TestPackReplacesItsSectionsAndDropsDebugInformation(t *testing.T) {
	keep := custom("target_features", 1)
	wasm := core(custom("name", 1), types, custom("ao.schemas", 9), custom("producers", 2), keep, custom(".debug_info", 3), custom("ao.manifest", 4), custom("go:buildid", 5))
	packed, err := module.Pack(wasm, []byte(manifest), []byte{0xca, 0xfe})
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(manifest)); err != nil {
		t.Fatal(err)
	}
	want := core(types, keep, custom("ao.manifest", compact.Bytes()...), custom("ao.schemas", 0xca, 0xfe))
	if !bytes.Equal(packed, want) {
		t.Fatalf("packed\n%q\nwant\n%q", packed, want)
	}
	again, err := module.Pack(packed, []byte(manifest), []byte{0xca, 0xfe})
	if err != nil || !bytes.Equal(again, packed) {
		t.Fatalf("packing twice changed the module (error %v)", err)
	}
	m, err := module.ReadManifest(packed)
	if diff := cmp.Diff(valid(t), m); err != nil || diff != "" {
		t.Fatalf("error %v, manifest %s", err, diff)
	}
	if s, err := module.ReadSchemas(packed); err != nil || !bytes.Equal(s, []byte{0xca, 0xfe}) {
		t.Fatalf("schemas %x, error %v", s, err)
	}
	bare, err := module.Pack(packed, []byte(manifest), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = module.ReadSchemas(bare)
	hasCode(t, err, module.CodeSchemasMissing)
}

func TestPackRefusesAManifestThatTheHostWouldRefuse(t *testing.T) {
	_, err := module.Pack(core(types), []byte(`{}`), nil)
	hasCode(t, err, module.CodeManifestInvalid)
	_, err = module.Pack(core(types), []byte(strings.Replace(manifest, `"demo", "--`, `"", "--`, 1)), nil)
	if e := code(t, err, module.CodeManifestInvalid); !slices.ContainsFunc(e.Problems, func(p module.Problem) bool { return p.Path == "launch.argv[0]" }) {
		t.Errorf("no problem names launch.argv[0]: %v", e)
	}
}

func TestAMissingOrRepeatedSectionIsNamed(t *testing.T) {
	m := custom("ao.manifest", []byte(manifest)...)
	_, err := module.ReadManifest(core(types, custom("ao.schemas", 1)))
	hasCode(t, err, module.CodeManifestMissing)
	_, err = module.ReadManifest(core(m, types, m))
	hasCode(t, err, module.CodeManifestInvalid)
	_, err = module.ReadSchemas(core(custom("ao.schemas", 1), custom("ao.schemas", 1)))
	hasCode(t, err, module.CodeSchemasInvalid)
}

func TestAManifestIsDecodedStrictlyAndEveryProblemHasAPath(t *testing.T) {
	replace := func(pairs ...string) string {
		out := manifest
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(out, pairs[i]) {
				t.Fatalf("the manifest of this test holds no %s", pairs[i])
			}
			out = strings.Replace(out, pairs[i], pairs[i+1], 1)
		}
		return out
	}
	for name, c := range map[string]struct{ json, want string }{
		"unknown members": {replace(`"limits"`, `"limit": {}, "limits"`, `"jsonrpc": true`, `"jsonrpc": true, "crlf\u001b[31m": 1`),
			`limit is not a member that this version knows; framing."crlf\x1b[31m" is not a member that this version knows`},
		"missing members": {replace(`"title": "Demo agent", `, ``, `"argv": ["demo", "--cwd={cwd}"]`, ``),
			`title is missing; launch.argv is missing`},
		"other types": {replace(`"1.2.0"`, `12`, `"--cwd={cwd}"`, `null`, `"state_version": 1`, `"state_version": 1.5`, `"limits": {}`, `"limits": []`),
			`binding_version must be a string, not a number; launch.argv[1] must be a string, not null; state_version must be a whole number, not "1.5"; limits must be an object, not an array`},
		"optional objects": {replace(`"argv": ["demo", "--cwd={cwd}"]`, `"argv": ["demo"], "signed_in": {"file": ["auth.json"]}`),
			`launch.signed_in.file is not a member that this version knows`},
		"repeated member":            {replace(`"title": "Demo agent"`, `"title": "Demo agent", "title": "Other"`), `title is there twice`},
		"member names match exactly": {replace(`"title"`, `"Title"`), `Title is not a member that this version knows; title is missing`},
		"not an object":              {`[]`, `the manifest must be an object, not an array`},
		"not JSON":                   {`{"harness":`, `breaks near byte 11`},
		"more than one value":        {manifest + `{}`, `the manifest is not JSON`},
		"too long":                   {manifest + strings.Repeat(" ", 256<<10), `at most 262144 are read`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := module.ReadManifest(core(custom("ao.manifest", []byte(c.json)...)))
			e := code(t, err, module.CodeManifestInvalid)
			for _, part := range strings.Split(c.want, "; ") {
				if !strings.Contains(e.Error(), part) {
					t.Errorf("missing %q in %q", part, e)
				}
			}
			if n := len(strings.Split(c.want, "; ")); len(e.Problems) > 0 && len(e.Problems) != n {
				t.Errorf("%d problems, want %d: %v", len(e.Problems), n, e)
			}
		})
	}
}

func TestD10_AModuleForAnotherABIIsNamedAsThat(t *testing.T) {
	for name, c := range map[string]struct{ min, max, say string }{
		"newer": {"0.7", "0.9", "update ao-host"},
		"major": {"1.0", "1.0", "update ao-host"},
		"older": {"0.0", "0.0", "update the binding"},
	} {
		t.Run(name, func(t *testing.T) {
			// A newer manifest also has members that are not known here.
			in := strings.Replace(manifest, `{"min": "0.1", "max": "0.1"}`, `{"min": "`+c.min+`", "max": "`+c.max+`"}, "new_member": 1`, 1)
			_, err := module.ReadManifest(core(custom("ao.manifest", []byte(in)...)))
			e := code(t, err, module.CodeABIUnsupported)
			if e.Required != (abi.ABIRange{Min: c.min, Max: c.max}) || e.Supported != abi.Version {
				t.Errorf("required %+v, supported %s", e.Required, e.Supported)
			}
			for _, part := range []string{c.min, c.max, abi.Version, c.say} {
				if !strings.Contains(e.Error(), part) {
					t.Errorf("%q does not name %q", e, part)
				}
			}
			m := valid(t)
			m.ABI = abi.ABIRange{Min: c.min, Max: c.max}
			hasCode(t, module.Validate(m), module.CodeABIUnsupported)
		})
	}
	m := valid(t)
	m.ABI = abi.ABIRange{Min: "0.0", Max: "1.5"}
	if err := module.Validate(m); err != nil {
		t.Errorf("a range around the version: %v", err)
	}
}

func TestValidateNamesEveryBrokenRule(t *testing.T) {
	if err := module.Validate(valid(t)); err != nil {
		t.Fatal(err)
	}
	good := func(m *abi.Manifest) {
		m.Launch.Env = []string{"DEMO_KEY", "DEMO_*", "LDAP_*", "A_*"}
		m.Launch.SetEnv = []abi.EnvValue{{Name: "DEMO_UPDATES", Value: "0"}}
		m.Launch.Facts = []abi.EnvFact{{Name: "api_key", Env: "DEMO_KEY"}}
		m.Launch.HomeVar, m.Launch.SignIn, m.Launch.VersionArgv = "DEMO_HOME", []string{"demo", "login"}, []string{"demo", "--version"}
		m.Launch.PermissionArgv = []abi.PermissionArgs{{Permission: abi.PermissionBypass, Args: []string{"--yes"}}}
		m.Launch.HomeDir, m.Launch.SignedIn = ".config/demo", &abi.SignInTraces{Env: []string{"DEMO_KEY"}, Files: []string{"auth.json", "tokens/main"}}
		m.Launch.InstallHint = "Install it with: npm install -g demo"
		m.Requests = []abi.RequestMethod{{Method: "ask", Interactive: true}, {Method: "_x.ai/ask"}}
		m.Notifies = []string{"initialized"}
		m.Vocabulary.Interactions = []abi.InteractionType{abi.InteractionReview}
		m.Limits = abi.Limits{MemoryBytes: abi.MaxMemoryBytes, FuelPerStep: abi.MaxFuelPerStep, FuelPerByte: abi.MaxFuelPerByte, OutputBytes: abi.MaxOutputBytes}
	}
	m := valid(t)
	if good(&m); module.Validate(m) != nil {
		t.Fatal(module.Validate(m))
	}
	for _, c := range []struct {
		path  string
		spoil func(*abi.Manifest)
	}{
		{"harness", func(m *abi.Manifest) { m.Harness = "Demo" }},
		{"harness", func(m *abi.Manifest) { m.Harness = strings.Repeat("a", 33) }},
		{"harness", func(m *abi.Manifest) { m.Harness = "demo\n" }},
		{"title", func(m *abi.Manifest) { m.Title = " " }},
		{"title", func(m *abi.Manifest) { m.Title = "Demo\x1b[1m" }},
		{"title", func(m *abi.Manifest) { m.Title = strings.Repeat("é", 65) }},
		{"binding_version", func(m *abi.Manifest) { m.BindingVersion = "1.2" }},
		{"abi.min", func(m *abi.Manifest) { m.ABI.Min = "zero" }},
		{"abi.max", func(m *abi.Manifest) { m.ABI.Max = "" }},
		{"abi.max", func(m *abi.Manifest) { m.ABI = abi.ABIRange{Min: "0.2", Max: "0.1"} }},
		{"state_version", func(m *abi.Manifest) { m.StateVersion = 0 }},
		{"launch.argv", func(m *abi.Manifest) { m.Launch.Argv = nil }},
		{"launch.argv[0]", func(m *abi.Manifest) { m.Launch.Argv = []string{""} }},
		{"launch.argv[0]", func(m *abi.Manifest) { m.Launch.Argv = []string{"{cwd}/demo"} }},
		{"launch.argv[1]", func(m *abi.Manifest) { m.Launch.Argv = []string{"demo", "{home}"} }},
		{"launch.argv[1]", func(m *abi.Manifest) { m.Launch.Argv = []string{"demo", "a\x00b"} }},
		{"launch.permission_argv[0].permission", func(m *abi.Manifest) { m.Launch.PermissionArgv[0].Permission = "root" }},
		{"launch.permission_argv[1].permission", func(m *abi.Manifest) {
			m.Launch.PermissionArgv = append(m.Launch.PermissionArgv, m.Launch.PermissionArgv[0])
		}},
		{"launch.permission_argv[0].args[0]", func(m *abi.Manifest) { m.Launch.PermissionArgv[0].Args[0] = "\x00" }},
		{"launch.env[0]", func(m *abi.Manifest) { m.Launch.Env = []string{"*"} }},
		{"launch.env[0]", func(m *abi.Manifest) { m.Launch.Env = []string{"A*B"} }},
		{"launch.env[0]", func(m *abi.Manifest) { m.Launch.Env = []string{"A=B"} }},
		{"launch.env[1]", func(m *abi.Manifest) { m.Launch.Env = []string{"A", "LD_PRELOAD"} }},
		{"launch.env[0]", func(m *abi.Manifest) { m.Launch.Env = []string{"L*"} }},
		{"launch.env[0]", func(m *abi.Manifest) { m.Launch.Env = []string{"LD_PRE*"} }},
		{"launch.env[0]", func(m *abi.Manifest) { m.Launch.Env = []string{"DYLD_INSERT_LIBRARIES"} }},
		{"launch.env[0]", func(m *abi.Manifest) { m.Launch.Env = []string{"AO_HOST_SOCKET"} }},
		{"launch.env[0]", func(m *abi.Manifest) { m.Launch.Env = []string{"AO_*"} }},
		{"launch.set_env[0].name", func(m *abi.Manifest) { m.Launch.SetEnv[0].Name = "LD_LIBRARY_PATH" }},
		{"launch.set_env[0].name", func(m *abi.Manifest) { m.Launch.SetEnv[0].Name = "A*" }},
		{"launch.set_env[1].name", func(m *abi.Manifest) { m.Launch.SetEnv = append(m.Launch.SetEnv, m.Launch.SetEnv[0]) }},
		{"launch.set_env[0].value", func(m *abi.Manifest) { m.Launch.SetEnv[0].Value = "\x00" }},
		{"launch.home_var", func(m *abi.Manifest) { m.Launch.HomeVar = "AO_HOST_DIR" }},
		{"launch.home_dir", func(m *abi.Manifest) { m.Launch.HomeDir = "/etc" }},
		{"launch.home_dir", func(m *abi.Manifest) { m.Launch.HomeDir = "../other" }},
		{"launch.home_dir", func(m *abi.Manifest) { m.Launch.HomeDir = "a/../.." }},
		{"launch.home_dir", func(m *abi.Manifest) { m.Launch.HomeDir = "." }},
		{"launch.home_dir", func(m *abi.Manifest) { m.Launch.HomeDir = "a\x00" }},
		{"launch.signed_in.env[0]", func(m *abi.Manifest) { m.Launch.SignedIn.Env[0] = "A*" }},
		{"launch.signed_in.env[0]", func(m *abi.Manifest) { m.Launch.SignedIn.Env[0] = "AO_HOST_DATA" }},
		{"launch.signed_in.env[1]", func(m *abi.Manifest) { m.Launch.SignedIn.Env = []string{"A", "A"} }},
		{"launch.signed_in.files[0]", func(m *abi.Manifest) { m.Launch.SignedIn.Files[0] = "../auth.json" }},
		{"launch.signed_in.files[1]", func(m *abi.Manifest) { m.Launch.SignedIn.Files = []string{"a", "a"} }},
		{"launch.signed_in.files", func(m *abi.Manifest) { m.Launch.HomeVar, m.Launch.HomeDir = "", "" }},
		{"launch.facts[0].name", func(m *abi.Manifest) { m.Launch.Facts[0].Name = "API" }},
		{"launch.facts[0].env", func(m *abi.Manifest) { m.Launch.Facts[0].Env = "" }},
		{"launch.facts[1].name", func(m *abi.Manifest) { m.Launch.Facts = append(m.Launch.Facts, m.Launch.Facts[0]) }},
		{"launch.sign_in[0]", func(m *abi.Manifest) { m.Launch.SignIn[0] = "" }},
		{"launch.version_argv[1]", func(m *abi.Manifest) { m.Launch.VersionArgv[1] = "{x}" }},
		{"launch.install_hint", func(m *abi.Manifest) { m.Launch.InstallHint = "a\nb" }},
		{"provider.versions", func(m *abi.Manifest) { m.Provider.Versions = nil }},
		{"provider.versions[0]", func(m *abi.Manifest) { m.Provider.Versions = []string{""} }},
		{"provider.versions[1]", func(m *abi.Manifest) { m.Provider.Versions = []string{"1", "1"} }},
		{"provider.min", func(m *abi.Manifest) { m.Provider.Min = "" }},
		{"provider.max", func(m *abi.Manifest) { m.Provider.Max = "" }},
		{"capabilities.steering", func(m *abi.Manifest) { m.Capabilities.Steering = "magic" }},
		{"vocabulary.permissions", func(m *abi.Manifest) { m.Vocabulary.Permissions = nil }},
		{"vocabulary.permissions[0]", func(m *abi.Manifest) { m.Vocabulary.Permissions = []abi.Permission{"root"} }},
		{"vocabulary.permissions[1]", func(m *abi.Manifest) { m.Vocabulary.Permissions = []abi.Permission{"auto", "auto"} }},
		{"vocabulary.interactions[0]", func(m *abi.Manifest) { m.Vocabulary.Interactions[0] = "chat" }},
		{"vocabulary.interactions[1]", func(m *abi.Manifest) { m.Vocabulary.Interactions = []abi.InteractionType{"form", "form"} }},
		{"calls", func(m *abi.Manifest) { m.Calls = nil }},
		{"calls[0]", func(m *abi.Manifest) { m.Calls = []string{"turn start"} }},
		{"calls[1]", func(m *abi.Manifest) { m.Calls = []string{"turn/start", "turn/start"} }},
		{"notifies[0]", func(m *abi.Manifest) { m.Notifies = []string{""} }},
		{"requests[1].method", func(m *abi.Manifest) { m.Requests[1] = m.Requests[0] }},
		{"limits.memory_bytes", func(m *abi.Manifest) { m.Limits.MemoryBytes++ }},
		{"limits.fuel_per_step", func(m *abi.Manifest) { m.Limits.FuelPerStep++ }},
		{"limits.fuel_per_byte", func(m *abi.Manifest) { m.Limits.FuelPerByte++ }},
		{"limits.output_bytes", func(m *abi.Manifest) { m.Limits.OutputBytes = -1 }},
	} {
		m := valid(t)
		good(&m)
		c.spoil(&m)
		e := code(t, module.Validate(m), module.CodeManifestInvalid)
		if len(e.Problems) != 1 || e.Problems[0].Path != c.path || !strings.Contains(e.Error(), e.Problems[0].String()) {
			t.Errorf("want one problem at %s: %v", c.path, e)
		}
	}
}

func TestALongListOfProblemsIsCutAndCounted(t *testing.T) {
	m := valid(t)
	m.Calls = make([]string, 500)
	e := code(t, module.Validate(m), module.CodeManifestInvalid)
	if len(e.Problems) != 50 || !strings.Contains(e.Error(), "949 more") {
		t.Errorf("%d problems: %.200s", len(e.Problems), e)
	}
}
