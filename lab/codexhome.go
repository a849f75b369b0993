package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MockModel is the model a lab home selects. It knows the efforts low, medium and
// high, asks questions with and without waiting, and is the catalog's default.
const MockModel = "mock-model"

// MockPlainModel is a second model of the catalog that knows the effort low only.
const MockPlainModel = "mock-plain"

// MockHiddenModel is in the catalog but not for pickers.
const MockHiddenModel = "mock-hidden"

// CodexOptions changes what CodexHome writes. The zero value is the ordinary lab home.
type CodexOptions struct {
	// Model overrides MockModel. A name outside the catalog makes Codex warn and go on with fallback metadata.
	Model string
	// ApprovalPolicy, SandboxMode and ApprovalsReviewer are the user's own defaults in
	// config.toml; empty ones are left to Codex.
	ApprovalPolicy, SandboxMode, ApprovalsReviewer string
	// Trusted are project folders marked as trusted, which silences a warning at start.
	Trusted []string
	// NoRetries makes a failing model request fail the turn at once.
	NoRetries bool
	// Extra is appended to config.toml as it stands, for MCP servers and the like.
	Extra string
}

// CodexHome makes a home folder for h whose model provider is modelURL ("http://127.0.0.1:PORT/v1").
//
// The folder is lab/home/… in the repository, because Codex does not create its helper
// binaries under the system's temporary folder and then says so on every start.
func CodexHome(tb TB, h Harness, modelURL string, opts CodexOptions) Home {
	tb.Helper()
	return keepForTest(tb, func(homes string) (Home, error) { return newCodexHome(h, homes, modelURL, opts) })
}

func newCodexHome(h Harness, homes, modelURL string, opts CodexOptions) (Home, error) {
	catalog, err := codexCatalog(h, homes)
	if err != nil {
		return Home{}, err
	}
	dir, err := os.MkdirTemp(homes, "codex-"+h.Version+"-")
	if err != nil {
		return Home{}, fmt.Errorf("lab: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(codexConfig(modelURL, catalog, opts)), 0o600); err != nil {
		return Home{}, fmt.Errorf("lab: %w", err)
	}
	// HOME too: Codex runs commands in a login shell, which killed in the developer's own
	// profile leaves locks behind.
	return Home{Harness: h, Dir: dir, Argv: []string{h.Path, "app-server"}, Env: labEnv(h.Path, "CODEX_HOME="+dir, "HOME="+dir)}, nil
}

// codexConfig writes config.toml. Strings are quoted as TOML basic strings, which for
// the characters that occur here agree with Go's quoting.
func codexConfig(modelURL, catalog string, o CodexOptions) string {
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s = %s\n", key, strconv.Quote(value))
		}
	}
	model := o.Model
	if model == "" {
		model = MockModel
	}
	line("model", model)
	line("model_provider", "mock")
	line("model_catalog_json", catalog)
	line("approval_policy", o.ApprovalPolicy)
	line("sandbox_mode", o.SandboxMode)
	line("approvals_reviewer", o.ApprovalsReviewer)
	line("cli_auth_credentials_store", "file") // never the desktop's keyring
	b.WriteString(`check_for_update_on_startup = false

[analytics]
enabled = false

[feedback]
enabled = false

[otel]
exporter = "none"
trace_exporter = "none"
metrics_exporter = "none"

[tools.update_plan]
enabled = true

[model_providers.mock]
name = "mock"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
`)
	line("base_url", modelURL)
	if o.NoRetries {
		b.WriteString("request_max_retries = 0\nstream_max_retries = 0\n")
	} else {
		b.WriteString("request_max_retries = 2\nstream_max_retries = 2\n")
	}
	for _, dir := range o.Trusted {
		fmt.Fprintf(&b, "\n[projects.%s]\ntrust_level = \"trusted\"\n", strconv.Quote(dir))
	}
	if o.Extra != "" {
		b.WriteString("\n" + o.Extra + "\n")
	}
	return b.String()
}
