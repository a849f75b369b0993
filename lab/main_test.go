package lab_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/aoagents/ao-host/lab"
	"go.uber.org/goleak"
)

// TestMain lets a real harness start the test binary as its tool server.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve-mcp" {
		if err := lab.ServeMCP(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
