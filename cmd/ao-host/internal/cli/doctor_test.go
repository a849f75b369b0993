package cli_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/cli"
	"github.com/aoagents/ao-host/host"
)

// sickness is a machine on which a good deal is wrong.
func sickness() host.Diagnosis {
	path := []string{"/usr/bin", "/bin"}
	digest := "sha256:" + strings.Repeat("0", 64)
	binding := func(tested, max string) *host.BindingCheck {
		return &host.BindingCheck{Version: "0.1.0", Digest: digest, BuiltIn: true, Tested: strings.Split(tested, " "), Min: strings.Split(tested, " ")[0], Max: max}
	}
	find := func(s host.Severity, c host.Code, text string) host.Finding {
		return host.Finding{Severity: s, Code: c, Text: text, Advice: advice(c)}
	}
	return host.Diagnosis{
		Version: "1.2.3", ABI: "0.1", Go: "go1.26.8", Platform: "linux/amd64",
		Data: host.DataCheck{Dir: "/home/someone/.local/state/ao-host", Exists: true, Schema: 99, Known: 3, DataBytes: 12_345_678, FreeBytes: 99_000_000,
			Findings: []host.Finding{
				find(host.SeverityError, host.CodeStoreNewer, "The data has schema 99, this version 3."),
				find(host.SeverityWarning, host.CodeDiskLow, "94 MB are left on the disk of the data folder."),
			}},
		Environment: host.EnvironmentCheck{Source: host.EnvironmentOwn, Shell: "/bin/fish", TookMS: 5000, Path: path,
			Findings: []host.Finding{find(host.SeverityWarning, host.CodeLoginEnv, "/bin/fish did not answer within 5s.")}},
		Harnesses: []host.HarnessCheck{
			{Harness: "alpha", Title: "Alpha", Usable: true, Binding: binding("1.0.0 1.4.0", "1.4.0"), Command: []string{"alpha", "serve"},
				Program: "/opt/alpha/bin/alpha", Version: "1.4.0", Fit: host.FitTested, Schemas: "1.4.0",
				SignIn: &host.SignInCheck{State: host.SignInFound, Found: []string{"ALPHA_KEY", "/home/someone/.alpha/auth.json"}, Command: []string{"alpha", "login"}},
				Probe:  &host.ProbeCheck{Ready: true, TookMS: 1234, Modes: 2, Models: 1}},
			{Harness: "beta", Title: "Beta \x1b[31mred", Usable: true, Replaced: true, Binding: binding("1.0.0", "1.x"), Command: []string{"/home/someone/my tools/beta", "--acp"},
				Program: "/home/someone/my tools/beta", Version: "2.0.0", Fit: host.FitOutside, Schemas: "1.0.0",
				SignIn: &host.SignInCheck{State: host.SignInNotFound, Command: []string{"beta", "login"}},
				Findings: []host.Finding{
					find(host.SeverityWarning, host.CodeProviderVersion, "It has version 2.0.0; the binding was made for 1.0.0 to 1.x."),
					find(host.SeverityNote, host.CodeSignInUnproven, "There is no trace of a sign-in: /home/someone/.beta/auth.json is not there. The command is: beta login."),
				}},
			{Harness: "gamma", Title: "Gamma", Binding: binding("0.0.0-20260821", "x"), Command: []string{"gamma"}, Program: "/usr/bin/gamma", Fit: host.FitUnknown, Schemas: "0.0.0-20260821",
				SignIn: &host.SignInCheck{State: host.SignInUnknown, Command: []string{"gamma", "login"}},
				Findings: []host.Finding{{Severity: host.SeverityError, Code: host.CodeInterpreterMissing,
					Text: `The script "/usr/bin/gamma" needs the interpreter "node", which was not found in any folder of PATH (/usr/bin:/bin). Install it, or make the login shell set a PATH that has it.`}}},
			{Harness: "delta", Title: "Delta", Binding: binding("1.0.0", "2.0.0"), Command: []string{"delta"}, Fit: host.FitUnknown,
				SignIn: &host.SignInCheck{State: host.SignInNeeded, Command: []string{"delta", "login"}},
				Findings: []host.Finding{{Severity: host.SeverityError, Code: host.CodeHarnessNotFound,
					Text: `The command "delta" was not found in any folder of PATH (/usr/bin:/bin). Install it, or give its absolute path.`}}},
			{Harness: "omega", Findings: []host.Finding{find(host.SeverityError, host.CodeUnknownHarness, `There is no binding for "omega".`)}},
		},
		Modules: []host.ModuleCheck{{Path: "/home/someone/.local/state/ao-host/bindings/epsilon.wasm", Harness: "epsilon", Version: "9.9.9", Digest: digest,
			Finding: find(host.SeverityNote, host.CodeBindingNotAllowed, `The module epsilon.wasm for "epsilon" was never allowed.`)}},
	}
}

func advice(code host.Code) string { return (&host.Error{Code: code}).Advice() }

func doctor(t *testing.T, d host.Diagnosis, change func(*cli.App), args ...string) (out, errs string, code int) {
	t.Helper()
	a := &cli.App{Args: append([]string{"doctor"}, args...), Diagnose: func(_ context.Context, cfg host.Config, _ host.DiagnoseOptions) (host.Diagnosis, error) {
		if cfg.Env != nil {
			t.Error("harnesses are not looked for as a daemon would")
		}
		return d, nil
	}}
	if change != nil {
		change(a)
	}
	return invokeWith(t, a)
}

func TestDoctorSaysOfEachThingWhatIsWrongAndWhatToDo(t *testing.T) {
	out, errs, code := doctor(t, sickness(), nil)
	if code != cli.ExitUnusable || errs != "" {
		t.Errorf("exit code %d, %s", code, errs)
	}
	// The version of the program is that of its build.
	golden(t, "doctor", strings.Replace(out, host.Version()+", linux/amd64", "1.2.3, linux/amd64", 1))
	if strings.Contains(out, "\x1b") {
		t.Error("a terminal control of a manifest gets through")
	}
	for _, h := range sickness().Harnesses {
		for _, f := range h.Findings {
			if !strings.Contains(out, string(f.Code)) {
				t.Errorf("%s is not told", f.Code)
			}
		}
	}
}

func TestDoctorsExitCodeIsAboutWhatWasAsked(t *testing.T) {
	well := sickness()
	well.Data.Findings, well.Data.Usable = nil, true
	only := func(names ...string) host.Diagnosis {
		d := well
		d.Harnesses = nil
		for _, h := range well.Harnesses {
			for _, n := range names {
				if h.Harness == n {
					d.Harnesses = append(d.Harnesses, h)
				}
			}
		}
		return d
	}
	for _, c := range []struct {
		what string
		d    host.Diagnosis
		args []string
		code int
	}{
		{"some of all work", well, nil, cli.ExitDone},
		{"none of all works", only("gamma", "omega"), nil, cli.ExitUnusable},
		{"the named one works, with a warning", only("beta"), []string{"beta"}, cli.ExitDone},
		{"one of those named does not", only("alpha", "gamma"), []string{"alpha", "gamma"}, cli.ExitUnusable},
		{"the data folder does not", sickness(), []string{"alpha"}, cli.ExitUnusable},
	} {
		if _, errs, code := doctor(t, c.d, nil, c.args...); code != c.code || errs != "" {
			t.Errorf("%s: exit code %d, want %d; %s", c.what, code, c.code, errs)
		}
		out, _, code := doctor(t, c.d, nil, append(c.args, "--json")...)
		var v struct {
			Usable    *bool
			Harnesses []host.HarnessCheck
			Daemon    struct{ Running *bool }
		}
		if err := json.Unmarshal([]byte(out), &v); err != nil || v.Usable == nil || *v.Usable != (code == 0) || v.Daemon.Running == nil || len(v.Harnesses) != len(c.d.Harnesses) {
			t.Errorf("%s: %v in %s", c.what, err, out)
		}
	}
}

func TestL1_DoctorTellsWhatOnlyTheTerminalFinds(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "delta"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	out, _, _ := doctor(t, sickness(), func(a *cli.App) { a.Environ = []string{"PATH=relative:/nowhere:" + dir} })
	if !strings.Contains(out, "found_in_terminal") || !strings.Contains(out, filepath.Join(dir, "delta")) {
		t.Error(out)
	}
	out, _, _ = doctor(t, sickness(), func(a *cli.App) { a.Environ = []string{"PATH=/nowhere"} })
	if strings.Contains(out, "found_in_terminal") {
		t.Error(out)
	}
}

func TestDoctorTellsAMistakeInTheSettings(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"lunch":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	well := sickness()
	well.Data.Findings, well.Data.Usable = nil, true
	out, _, code := doctor(t, well, nil, "--data", dir)
	if code != cli.ExitUnusable || !strings.Contains(out, "lunch") || !strings.Contains(out, "alpha") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
