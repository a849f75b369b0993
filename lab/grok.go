package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Grok returns the pinned Grok of a version ("1.0.41"). npm carries its program
// compressed; lab/install.sh unpacks it into a folder beside the packages.
func Grok(version string) (Harness, error) {
	modules, err := modulesFor("grok", version, GrokVersions)
	if err != nil {
		return Harness{}, err
	}
	platform, err := platformName("grok", runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return Harness{}, err
	}
	path := filepath.Join(modules, ".grok-"+version, "bin", "grok-"+version)
	if packageVersion(filepath.Join(modules, alias("grok", version))) != version {
		return Harness{}, fmt.Errorf("grok %s for %s: %w", version, platform, ErrNotInstalled)
	}
	if _, err := os.Stat(path); err != nil {
		return Harness{}, fmt.Errorf("grok %s for %s: %w", version, platform, ErrNotInstalled)
	}
	return Harness{ID: "grok", Version: version, Path: path}, nil
}

// GrokOptions changes what GrokHome sets up. The zero value is the ordinary lab home.
type GrokOptions struct {
	// Args come before "stdio": permission is a matter of the launch ("--always-approve").
	Args []string
	// Extra is appended to config.toml as it stands.
	Extra string
	// NoKey leaves out the key, so that Grok is not signed in.
	NoKey bool
}

// GrokHome makes a home folder for h whose model endpoint is modelURL ("http://127.0.0.1:PORT/v1").
// The key in its environment is made up; the scripted endpoint takes any.
func GrokHome(tb TB, h Harness, modelURL string, opts GrokOptions) Home {
	tb.Helper()
	return keepForTest(tb, func(homes string) (Home, error) { return newGrokHome(h, homes, modelURL, opts) })
}

func newGrokHome(h Harness, homes, modelURL string, opts GrokOptions) (Home, error) {
	dir, err := os.MkdirTemp(homes, "grok-"+h.Version+"-")
	if err != nil {
		return Home{}, fmt.Errorf("lab: %w", err)
	}
	home := Home{Harness: h, Dir: dir, JSONRPC: true}
	grokHome := filepath.Join(dir, ".grok")
	if err := os.Mkdir(grokHome, 0o700); err != nil {
		return home, fmt.Errorf("lab: %w", err)
	}
	if err := os.WriteFile(filepath.Join(grokHome, "config.toml"), []byte(grokConfig(opts)), 0o600); err != nil {
		return home, fmt.Errorf("lab: %w", err)
	}
	set := []string{
		"HOME=" + dir,
		"XDG_CONFIG_HOME=" + filepath.Join(dir, ".config"),
		"XDG_DATA_HOME=" + filepath.Join(dir, ".local", "share"),
		"XDG_CACHE_HOME=" + filepath.Join(dir, ".cache"),
		"GROK_HOME=" + grokHome,
		"GROK_TELEMETRY_ENABLED=false",
		"GROK_TELEMETRY_TRACE_UPLOAD=false",
		"GROK_FEEDBACK_ENABLED=false",
		"GROK_DISABLE_AUTOUPDATER=1",
	}
	if !opts.NoKey {
		set = append(set, "XAI_API_KEY=made-up")
	}
	home.Env = labEnv(h.Path, set...)
	home.Argv = append([]string{h.Path, "agent", "--no-leader", "--xai-api-base-url", modelURL, "--cli-chat-proxy-base-url", modelURL}, opts.Args...)
	home.Argv = append(home.Argv, "stdio")
	return home, nil
}

// grokConfig writes config.toml: no updates, no telemetry.
func grokConfig(o GrokOptions) string {
	var b strings.Builder
	b.WriteString("[cli]\nauto_update = false\n\n[features]\ntelemetry = false\nfeedback = false\n\n[telemetry]\ntrace_upload = false\n")
	if o.Extra != "" {
		b.WriteString("\n" + o.Extra + "\n")
	}
	return b.String()
}
