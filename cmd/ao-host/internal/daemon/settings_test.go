package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
	"github.com/aoagents/ao-host/host"
)

func TestSettingsThatCannotBeMeantAreRefusedWithTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		``:                               "it ends before",
		`{"launch":`:                     "it ends before",
		`x`:                              "invalid character 'x'",
		`[]`:                             "the whole is a JSON array",
		`{"launch":[]}`:                  "launch is a JSON array",
		`{"lunch":{}}`:                   `"lunch"`,
		`{} {}`:                          "something follows",
		`{"launch":{"a":null}}`:          "launch.a.argv names no command",
		`{"launch":{"a":{"argv":[""]}}}`: "launch.a.argv names no command",
		"{\"launch\":{\"a\":{\"argv\":[\"b\",\"c\\u0000d\"]}}}":             "launch.a.argv[1] holds a NUL",
		`{"launch":{"a":{"argv":["b"],"env":["X=1","=y"]}}}`:                "launch.a.env[1] is not NAME=VALUE",
		`{"launch":{"a":{"argv":["b"],"env":["X"]}}}`:                       "launch.a.env[0] is not NAME=VALUE",
		"{\"launch\":{\"a\":{\"argv\":[\"b\"],\"env\":[\"X=\\u0000\"]}}}":   "launch.a.env[0] is not NAME=VALUE",
		`{"launch":{"a":{"argv":["b"]}}` + strings.Repeat(" ", 1<<20) + `}`: "at most 1048576",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := daemon.ReadSettings(dir)
		if host.CodeOf(err) != host.CodeInvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{`{}`, `null`, "{}\n", `{"launch":{"a":{"argv":["b",""],"env":["X=","Y=1=2"]}}}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := daemon.ReadSettings(dir); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
