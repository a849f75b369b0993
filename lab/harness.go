package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Harness is an installed real harness.
type Harness struct {
	ID      string // as in a binding's manifest
	Version string
	// Path is the absolute path of the executable itself, without any launcher script; of
	// a harness written in JavaScript it is the script that Node runs.
	Path string
	// Node is the absolute path of the Node.js that runs Path; empty for a native program.
	Node string
}

// The pinned versions of lab/package.json, newest first.
var (
	CodexVersions  = []string{"0.171.0", "0.153.4"}
	ClaudeVersions = []string{"0.101.0", "0.49.0"} // of the ACP adapter
	GrokVersions   = []string{"1.0.41"}
)

// ErrNotInstalled is returned for a harness that is pinned but not installed.
var ErrNotInstalled = errors.New("harness is not installed: run lab/install.sh")

// Root finds the folder of go.mod, upwards from the working directory, which in a test is the package's folder.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("lab: no working directory: %w", err)
	}
	for from := dir; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("lab: no go.mod above %s; run from inside the repository", from)
		}
	}
}

// Find returns a pinned harness, or an error that wraps ErrNotInstalled.
func Find(id, version string) (Harness, error) {
	switch id {
	case "codex":
		return Codex(version)
	case "claude":
		return Claude(version)
	case "grok":
		return Grok(version)
	default:
		return Harness{}, fmt.Errorf("lab: harness %q is not pinned in lab/package.json", id)
	}
}

// Codex returns the pinned Codex of a version ("0.171.0", "0.153.4").
func Codex(version string) (Harness, error) {
	modules, err := modulesFor("codex", version, CodexVersions)
	if err != nil {
		return Harness{}, err
	}
	path, err := codexBinary(modules, version, runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return Harness{}, err
	}
	return Harness{ID: "codex", Version: version, Path: path}, nil
}

// modulesFor is the folder of the installed packages, once the version is known to be pinned.
func modulesFor(id, version string, pinned []string) (string, error) {
	if !slices.Contains(pinned, version) {
		return "", fmt.Errorf("lab: %s %s is not pinned in lab/package.json; it has %s", id, version, strings.Join(pinned, ", "))
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "lab", "node_modules"), nil
}

// platformName names this machine as npm does ("linux-x64"), or says that there is no package for it.
func platformName(id, goos, goarch string) (string, error) {
	arch, known := map[string]string{"amd64": "x64", "arm64": "arm64"}[goarch]
	if !known || (goos != "linux" && goos != "darwin") {
		return "", fmt.Errorf("lab: there is no %s package for %s/%s", id, goos, goarch)
	}
	return goos + "-" + arch, nil
}

// alias is the name a version has in lab/package.json: "codex", "0.171.0" is "codex-0171".
func alias(id, version string) string {
	parts := strings.SplitN(version, ".", 3)
	return id + "-" + strings.Join(parts[:len(parts)-1], "")
}

// packageVersion reads the version of an installed package; "" when it is not there.
func packageVersion(pkg string) string {
	data, err := os.ReadFile(filepath.Join(pkg, "package.json"))
	if err != nil {
		return ""
	}
	var meta struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(data, &meta) != nil {
		return ""
	}
	return meta.Version
}

// codexBinary finds the executable in the platform package of an aliased @openai/codex.
// npm puts the platform package of one version beside the alias and that of the other
// inside it, which one where is npm's choice, so both places are looked at and the
// version decides. All versions share one name in node_modules/.bin, which is therefore of no use.
func codexBinary(modules, version, goos, goarch string) (string, error) {
	platform, err := platformName("codex", goos, goarch)
	if err != nil {
		return "", err
	}
	for _, in := range []string{filepath.Join(modules, alias("codex", version), "node_modules"), modules} {
		pkg := filepath.Join(in, "@openai", "codex-"+platform)
		if packageVersion(pkg) != version+"-"+platform {
			continue
		}
		found, err := filepath.Glob(filepath.Join(globEscape(pkg), "vendor", "*", "bin", "codex"))
		if err == nil && len(found) == 1 {
			return found[0], nil
		}
	}
	return "", fmt.Errorf("codex %s for %s: %w", version, platform, ErrNotInstalled)
}

// globEscape keeps a path with glob characters in it literal.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// TB is the part of testing.TB that the lab uses.
type TB interface {
	Helper()
	Name() string
	Cleanup(func())
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Failed() bool
}

// Require returns a pinned harness. A test that needs one that is not installed is
// skipped, with a line on standard error that shows even without -v, and fails under
// AO_LIVE=1, which make live and CI set. AO_LIVE=0 leaves it out, which make check
// sets because it is quick.
func Require(tb TB, id, version string) Harness {
	tb.Helper()
	h, err := Find(id, version)
	switch {
	case os.Getenv("AO_LIVE") == "0":
		tb.Skipf("AO_LIVE=0: tests on real harnesses are left out")
	case err == nil:
		return h
	case os.Getenv("AO_LIVE") == "1":
		tb.Fatalf("AO_LIVE=1 and %v", err)
	case errors.Is(err, ErrNotInstalled):
		fmt.Fprintf(os.Stderr, "\n*** SKIPPED %s: %v ***\n\n", tb.Name(), err)
		tb.Skipf("%v", err)
	default:
		tb.Fatalf("%v", err)
	}
	return Harness{}
}
