package scripted_test

import (
	"os"
	"testing"

	"github.com/aoagents/ao-host/lab/scripted"
	"go.uber.org/goleak"
)

// TestMain lets the test binary be the harness: as a process it can ignore signals and die.
func TestMain(m *testing.M) {
	if os.Getenv("SCRIPTED_TEST_HARNESS") == "1" {
		os.Exit(scripted.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	goleak.VerifyTestMain(m)
}
