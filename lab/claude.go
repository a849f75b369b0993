package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Claude returns the pinned Claude ACP adapter of a version ("0.101.0", "0.49.0") with the
// Node.js it needs: the newer one runs on the pinned Node 22, where npm has a package of it
// for this platform, else on a Node of at least that version in PATH.
func Claude(version string) (Harness, error) {
	modules, err := modulesFor("claude", version, ClaudeVersions)
	if err != nil {
		return Harness{}, err
	}
	platform, err := platformName("claude", runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return Harness{}, err
	}
	pkg := filepath.Join(modules, alias("claude", version))
	if packageVersion(pkg) != version || !hasClaudeProgram(pkg, modules, platform) {
		return Harness{}, fmt.Errorf("claude %s for %s: %w", version, platform, ErrNotInstalled)
	}
	node, err := claudeNode(modules, platform, version)
	if err != nil {
		return Harness{}, err
	}
	return Harness{ID: "claude", Version: version, Path: filepath.Join(pkg, "dist", "index.js"), Node: node}, nil
}

// hasClaudeProgram looks for the native program that the adapter starts. npm puts the
// platform package of one version at the top and that of the other inside the alias.
func hasClaudeProgram(pkg, modules, platform string) bool {
	for _, in := range []string{filepath.Join(pkg, "node_modules"), modules} {
		if _, err := os.Stat(filepath.Join(in, "@anthropic-ai", "claude-agent-sdk")); err != nil {
			continue // the program has to be beside the SDK this adapter loads
		}
		for _, libc := range []string{"", "-musl"} {
			if _, err := os.Stat(filepath.Join(in, "@anthropic-ai", "claude-agent-sdk-"+platform+libc, "claude")); err == nil {
				return true
			}
		}
		return false
	}
	return false
}

// claudeNode finds the Node.js for an adapter.
func claudeNode(modules, platform, version string) (string, error) {
	if version == "0.49.0" {
		return nodeInPath(20)
	}
	pinned := filepath.Join(modules, "node-"+platform, "bin", "node")
	if _, err := os.Stat(pinned); err == nil {
		return pinned, nil
	}
	return nodeInPath(22)
}

func nodeInPath(least int) (string, error) {
	path, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("lab: node is not on PATH (%w): %w", err, ErrNotInstalled)
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("lab: %s --version: %w", path, err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < least {
		return "", fmt.Errorf("lab: %s is version %s, at least %d is needed: %w", path, strings.TrimSpace(string(out)), least, ErrNotInstalled)
	}
	return path, nil
}

// ClaudeOptions changes what ClaudeHome sets up. The zero value is the ordinary lab home.
type ClaudeOptions struct {
	// Settings is written as the user's settings.json; empty writes none.
	Settings string
	// Env is added to the environment, as "NAME=value".
	Env []string
}

// ClaudeHome makes a home folder for h whose model endpoint is modelURL, without "/v1"
// ("http://127.0.0.1:PORT"). The key in its environment is made up; the scripted endpoint takes any.
func ClaudeHome(tb TB, h Harness, modelURL string, opts ClaudeOptions) Home {
	tb.Helper()
	return keepForTest(tb, func(homes string) (Home, error) { return newClaudeHome(h, homes, modelURL, opts) })
}

func newClaudeHome(h Harness, homes, modelURL string, opts ClaudeOptions) (Home, error) {
	dir, err := os.MkdirTemp(homes, "claude-"+h.Version+"-")
	if err != nil {
		return Home{}, fmt.Errorf("lab: %w", err)
	}
	home := Home{Harness: h, Dir: dir, Argv: []string{h.Node, h.Path}, JSONRPC: true}
	config := filepath.Join(dir, ".claude")
	if err := os.Mkdir(config, 0o700); err != nil {
		return home, fmt.Errorf("lab: %w", err)
	}
	if opts.Settings != "" {
		if err := os.WriteFile(filepath.Join(config, "settings.json"), []byte(opts.Settings), 0o600); err != nil {
			return home, fmt.Errorf("lab: %w", err)
		}
	}
	home.Env = append(labEnv(h.Node,
		"HOME="+dir,
		"XDG_CONFIG_HOME="+filepath.Join(dir, ".config"),
		"XDG_DATA_HOME="+filepath.Join(dir, ".local", "share"),
		"XDG_CACHE_HOME="+filepath.Join(dir, ".cache"),
		"CLAUDE_CONFIG_DIR="+config,
		"ANTHROPIC_BASE_URL="+modelURL,
		"ANTHROPIC_API_KEY=made-up",
		"IS_SANDBOX=1", // root may bypass permissions
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_TELEMETRY=1",
		"DISABLE_ERROR_REPORTING=1",
		"DISABLE_AUTOUPDATER=1",
	), opts.Env...)
	return home, nil
}
