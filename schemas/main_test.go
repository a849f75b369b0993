package schemas_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets the test binary stand in for a provider's generator.
func TestMain(m *testing.M) {
	if mode := os.Getenv("SCHEMAS_TEST_GENERATOR"); mode != "" {
		os.Exit(fakeGenerator(mode, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

func fakeGenerator(mode string, args []string) int {
	switch {
	case mode == "hang":
		time.Sleep(3 * time.Minute)
	case mode == "fail":
		fmt.Fprintln(os.Stderr, "the generator is out of order")
		return 3
	case strings.HasPrefix(mode, "npm"):
		return fakeNpm(mode, args)
	case slices.Equal(args, []string{"--version"}):
		if mode == "foreign" {
			fmt.Println("some other program")
			return 0
		}
		fmt.Println("codex-cli 9.1.0")
	default:
		out := args[len(args)-1]
		file := "all.json"
		if !slices.Contains(args, "--experimental") {
			file = "stable.json"
		}
		if mode == "shapeless" {
			file = "shapeless.json"
		}
		text, err := os.ReadFile(filepath.Join(os.Getenv("SCHEMAS_TEST_DATA"), file))
		if err == nil {
			err = os.MkdirAll(out, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(out, "codex_app_server_protocol.schemas.json"), text, 0o644)
		}
		// A generator that looks at the person's own configuration shows here.
		if err == nil && os.Getenv("CODEX_HOME") == os.Getenv("SCHEMAS_TEST_REAL_HOME") {
			err = fmt.Errorf("the generator was run with the home folder of the person")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}
