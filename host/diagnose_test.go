package host_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// workplace is a machine to diagnose: a folder of programs, a home, and a data folder
// that does not exist yet.
type workplace struct {
	t              *testing.T
	bin, home, dir string
	cfg            host.Config
}

func newWorkplace(t *testing.T) *workplace {
	m := &workplace{t: t, bin: t.TempDir(), home: t.TempDir(), dir: filepath.Join(t.TempDir(), "data")}
	m.cfg = host.Config{
		Dir: m.dir, CacheDir: filepath.Join(cacheDir, "cache"), DigestDir: filepath.Join(cacheDir, "digests"),
		Env: []string{"PATH=" + m.bin, "HOME=" + m.home, "XAI_API_KEY=" + canary, "UNRELATED=" + canary},
	}
	patient(&m.cfg)
	return m
}

// program installs a script. It leaves a mark when it is started in any other way
// than for its version.
func (m *workplace) program(name, version string) string {
	m.t.Helper()
	path := filepath.Join(m.bin, name)
	script := "#!/bin/sh\nif [ \"$*\" = --version ]; then " + version + "; exit; fi\n: > '" + m.mark() + "'\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		m.t.Fatal(err)
	}
	return path
}

func (m *workplace) mark() string { return filepath.Join(m.home, "was-started") }

func (m *workplace) diagnose(names ...string) host.Diagnosis {
	m.t.Helper()
	d, err := host.Diagnose(m.t.Context(), m.cfg, host.DiagnoseOptions{Harnesses: names})
	if err != nil {
		m.t.Fatal(err)
	}
	if text, err := json.Marshal(d); err != nil || strings.Contains(string(text), canary) {
		m.t.Errorf("a value of a variable or a credential is in %s (%v)", text, err)
	}
	if _, err := os.Stat(m.mark()); err == nil {
		m.t.Error("a harness was started")
	}
	return d
}

func (m *workplace) write(path, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// codesOf are the severities and codes of findings.
func codesOf(findings []host.Finding) []string {
	out := []string{}
	for _, f := range findings {
		out = append(out, string(f.Severity)+" "+string(f.Code))
	}
	return out
}

func wantFindings(t *testing.T, got []host.Finding, want ...string) {
	t.Helper()
	if !slices.Equal(codesOf(got), want) && len(got)+len(want) > 0 {
		t.Errorf("findings %v, want %v", codesOf(got), want)
	}
	for _, f := range got {
		if f.Text == "" {
			t.Errorf("%s says nothing", f.Code)
		}
	}
}

func TestDiagnoseFindsAHarnessWithItsVersionAndSignIn(t *testing.T) {
	t.Parallel()
	m := newWorkplace(t)
	program := m.program("codex", "echo codex-cli 0.171.0")
	d := m.diagnose("codex")
	h := d.Harnesses[0]
	if h.Program != program || h.Version != "0.171.0" || h.Fit != host.FitTested || h.Schemas != "0.171.0" || !h.Usable || h.Replaced {
		t.Errorf("%+v", h)
	}
	wantFindings(t, h.Findings, "note sign_in_unproven")
	if h.SignIn.State != host.SignInNotFound || !strings.Contains(h.Findings[0].Text, filepath.Join(m.home, ".codex", "auth.json")) || !strings.Contains(h.Findings[0].Text, "codex login") {
		t.Errorf("%+v %+v", h.SignIn, h.Findings)
	}
	if !h.Binding.BuiltIn || !slices.Contains(h.Binding.Tested, "0.153.4") {
		t.Errorf("%+v", h.Binding)
	}
	if _, err := os.Stat(m.dir); err == nil {
		t.Error("the data folder was made")
	}

	auth := filepath.Join(m.home, ".codex", "auth.json")
	m.write(auth, canary)
	h = m.diagnose("codex").Harnesses[0]
	if h.SignIn.State != host.SignInFound || !slices.Equal(h.SignIn.Found, []string{auth}) {
		t.Errorf("%+v", h.SignIn)
	}
	wantFindings(t, h.Findings)
	// The harness's own folder can be somewhere else.
	m.cfg.Env = append(m.cfg.Env, "CODEX_HOME="+filepath.Join(m.home, "other"))
	if h = m.diagnose("codex").Harnesses[0]; h.SignIn.State != host.SignInNotFound {
		t.Errorf("%+v", h.SignIn)
	}
	// A variable is named, never shown.
	m.program("grok", "echo grok 1.0.41 '(abc)'")
	if h = m.diagnose("grok").Harnesses[0]; h.SignIn.State != host.SignInFound || !slices.Equal(h.SignIn.Found, []string{"XAI_API_KEY"}) || h.Version != "1.0.41" {
		t.Errorf("%+v %+v", h, h.SignIn)
	}
}

func TestDiagnoseTellsWhetherTheBindingFitsTheVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prints, version string
		fit             host.VersionFit
		schemas         string
		findings        []string
	}{
		{"echo 0.153.4", "0.153.4", host.FitTested, "0.153.4", nil},
		{"echo v0.160.2", "0.160.2", host.FitExpected, "0.153.4", nil},
		{"echo tool/0.9.0-beta.1 linux", "0.9.0-beta.1", host.FitOutside, "0.153.4", []string{"warning provider_version"}},
		{"echo 1.0.0", "1.0.0", host.FitOutside, "0.171.0", []string{"warning provider_version"}},
		{"echo built from source", "", host.FitUnknown, "0.171.0", []string{"note provider_version_unread"}},
		{"echo 0.171.0; exit 1", "", host.FitUnknown, "0.171.0", []string{"note provider_version_unread"}},
		{"echo 10.0.0.1:80 file.1.txt", "", host.FitUnknown, "0.171.0", []string{"note provider_version_unread"}},
	} {
		t.Run(c.prints, func(t *testing.T) {
			m := newWorkplace(t)
			m.write(filepath.Join(m.home, ".codex", "auth.json"), canary)
			m.program("codex", c.prints)
			h := m.diagnose("codex").Harnesses[0]
			if h.Version != c.version || h.Fit != c.fit || h.Schemas != c.schemas || !h.Usable {
				t.Errorf("version %q, fit %q, schemas %q, usable %v", h.Version, h.Fit, h.Schemas, h.Usable)
			}
			wantFindings(t, h.Findings, c.findings...)
		})
	}
}

func TestL1_DiagnoseNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	m := newWorkplace(t)
	if err := os.WriteFile(filepath.Join(m.bin, "codex"), []byte("#!/usr/bin/env no-such-node\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := m.diagnose("codex", "grok", "nobody")
	want := [][]string{{"error harness_interpreter_missing"}, {"error harness_not_found"}, {"error unknown_harness"}}
	for i, h := range d.Harnesses {
		wantFindings(t, h.Findings, want[i]...)
		if h.Usable {
			t.Errorf("%s is called usable", h.Harness)
		}
	}
	if text := d.Harnesses[0].Findings[0].Text; !strings.Contains(text, "no-such-node") {
		t.Errorf("the interpreter is not named: %s", text)
	}
	if text := d.Harnesses[1].Findings[0].Text; !strings.Contains(text, "npm install") {
		t.Errorf("how to install it is not told: %s", text)
	}
	// Without names, all there are bindings for.
	var ids []string
	for _, h := range m.diagnose().Harnesses {
		ids = append(ids, h.Harness)
	}
	if !slices.Equal(ids, []string{"claude", "codex", "grok", "kimchi"}) {
		t.Errorf("harnesses %v", ids)
	}
}

func TestDiagnoseDoesNotAskAProgramThatTookTheHarnessesPlace(t *testing.T) {
	t.Parallel()
	m := newWorkplace(t)
	other := m.program("wrapper", "echo 9.9.9")
	m.cfg.Launch = map[string]host.Launch{"codex": {Argv: []string{other, "app-server"}}}
	h := m.diagnose("codex").Harnesses[0]
	if h.Version != "" || !h.Replaced || h.Program != other {
		t.Errorf("%+v", h)
	}
	// The same program by its path is asked.
	m.cfg.Launch["codex"] = host.Launch{Argv: []string{m.program("codex", "echo 0.171.0"), "app-server"}}
	if h = m.diagnose("codex").Harnesses[0]; h.Version != "0.171.0" || !h.Replaced {
		t.Errorf("%+v", h)
	}
}

func TestDiagnoseTellsTheStateOfTheDataFolder(t *testing.T) {
	t.Parallel()
	m := newWorkplace(t)
	if d := m.diagnose("codex").Data; d.Exists || !d.Usable || d.Dir != m.dir {
		t.Errorf("no folder: %+v", d)
	}
	h, err := host.Open(t.Context(), m.cfg)
	if err != nil {
		t.Fatal(err)
	}
	d := m.diagnose("codex")
	if d.Data.Usable || d.Data.Holder != os.Getpid() || d.Host != nil {
		t.Errorf("an open folder: %+v", d.Data)
	}
	wantFindings(t, d.Data.Findings, "error store_locked")
	own, err := h.Diagnose(t.Context(), host.DiagnoseOptions{Harnesses: []string{"codex"}})
	if err != nil || !own.Data.Usable || own.Host == nil || own.Host.PID != os.Getpid() || own.Host.Goroutines == 0 {
		t.Errorf("its own: %+v, %v", own.Data, err)
	}
	wantFindings(t, own.Data.Findings)
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := m.diagnose("codex").Data; !d.Usable || !d.Exists || d.Schema != d.Known {
		t.Errorf("a closed folder: %+v", d)
	}
	f, err := os.OpenFile(filepath.Join(m.dir, "ao-host.db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte{0, 0, 0, 99}, 60)
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	d = m.diagnose("codex")
	if d.Data.Usable || d.Data.Schema != 99 {
		t.Errorf("a newer folder: %+v", d.Data)
	}
	wantFindings(t, d.Data.Findings, "error store_newer")
	if d.Harnesses[0].Binding == nil {
		t.Error("the harnesses are not looked at then")
	}
}

func TestDiagnoseRunsNothingOfAModuleThatWaitsForConsent(t *testing.T) {
	t.Parallel()
	shipped, err := os.ReadFile(filepath.Join("..", "bindings-wasm", "codex.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	m := newWorkplace(t)
	stranger := repack(t, shipped, func(x *abi.Manifest) {
		x.Harness, x.Title = "stranger", "Stranger"
		x.Launch.Argv, x.Launch.VersionArgv = []string{"stranger", "serve"}, []string{"stranger", "tell"}
	})
	mark := filepath.Join(m.home, "asked")
	m.write(filepath.Join(m.bin, "stranger"), "#!/bin/sh\necho 1.2.3\n: > '"+mark+"'\n")
	if err := os.Chmod(filepath.Join(m.bin, "stranger"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.write(filepath.Join(m.dir, "bindings", "stranger.wasm"), string(stranger))
	m.write(filepath.Join(m.dir, "bindings", "cut.wasm"), string(stranger[:100]))
	d := m.diagnose("stranger")
	wantFindings(t, d.Harnesses[0].Findings, "error binding_not_allowed")
	if len(d.Modules) != 2 || d.Modules[1].Finding.Severity != host.SeverityNote || d.Modules[1].Harness != "stranger" || d.Modules[0].Finding.Severity != host.SeverityError {
		t.Errorf("modules %+v", d.Modules)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Fatal("its command was run without consent")
	}
	h, err := host.Open(t.Context(), m.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.AllowBinding(t.Context(), "stranger"); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The consent is read from the folder although nobody has it open.
	got := m.diagnose("stranger").Harnesses[0]
	if got.Version != "1.2.3" || got.Binding.BuiltIn || got.Binding.Path == "" {
		t.Errorf("%+v", got)
	}
}

func TestL1_DiagnoseTellsHowTheLoginShellWasAsked(t *testing.T) {
	m := newWorkplace(t)
	m.cfg.Env = nil
	shell := filepath.Join(m.bin, "sh")
	m.write(shell, "#!/bin/sh\nexit 7\n")
	if err := os.Chmod(shell, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SHELL", shell)
	e := m.diagnose("codex").Environment
	if e.Source != host.EnvironmentOwn || e.Shell != shell || len(e.Path) == 0 {
		t.Errorf("%+v", e)
	}
	wantFindings(t, e.Findings, "warning login_environment_unavailable")
	t.Setenv("SHELL", "/bin/sh")
	if e = m.diagnose("codex").Environment; e.Source != host.EnvironmentLogin || len(e.Path) == 0 {
		t.Errorf("%+v", e)
	}
	m.cfg.Env = []string{"PATH=/a:/b"}
	if e = m.diagnose("codex").Environment; e.Source != host.EnvironmentGiven || !slices.Equal(e.Path, []string{"/a", "/b"}) {
		t.Errorf("%+v", e)
	}
}

func TestAProbeStartsAHarnessWithoutATurnAndLeavesNothing(t *testing.T) {
	// A turn would end the process.
	r := newRig(t, `{"models":[{"id":"m","title":"M","efforts":["low"],"default":true}],"methods":{"turn/start":[{"exit":9}]},"turns":[]}`)
	// So that its module is compiled, which alone can take longer than such a probe may.
	if _, err := r.h.Probe(t.Context(), r.conv); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	d, err := r.h.Diagnose(t.Context(), host.DiagnoseOptions{Harnesses: []string{"codex"}, Probe: true})
	if err != nil {
		t.Fatal(err)
	}
	h := d.Harnesses[0]
	if h.Probe == nil || !h.Probe.Ready || h.Probe.Models != 1 || h.Probe.Modes == 0 || h.Version != "0.171.0" || h.SignIn.State != host.SignInNotAsked || !h.Usable {
		t.Errorf("%+v %+v %+v", h, h.Probe, h.SignIn)
	}
	wantFindings(t, h.Findings)
	if all, err := r.h.Conversations(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%d conversations, %v", len(all), err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

func TestAProbeTellsThatASignInIsNeeded(t *testing.T) {
	t.Parallel()
	r := newRig(t, signedOut)
	_, err := r.h.Probe(t.Context(), r.conv)
	wantCode(t, err, host.CodeSignInNeeded)
	d, err := r.h.Diagnose(t.Context(), host.DiagnoseOptions{Harnesses: []string{"codex"}, Probe: true})
	if err != nil {
		t.Fatal(err)
	}
	h := d.Harnesses[0]
	if h.Usable || h.SignIn.State != host.SignInNeeded || !slices.Contains(codesOf(h.Findings), "error sign_in_needed") {
		t.Errorf("%+v %+v", h, h.SignIn)
	}
}
