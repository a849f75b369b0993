package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/aoagents/ao-host/api/client"
)

// product builds the example of a product that embeds the library.
var product = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ao-host-test-embed-")
	if err != nil {
		return "", err
	}
	productDir = dir
	bin := filepath.Join(dir, "embed")
	out, err := exec.Command("go", "build", "-o", bin, "../../examples/embed").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, nil
})

// productDir is the folder that product made, if it did.
var productDir string

// embed runs the product for a script, on the script's data folder, and ends it
// with the script. Commands reach it with $WHERE.
func embed(t *testing.T, e *testscript.Env) error {
	bin, err := product()
	if err != nil {
		return err
	}
	data := e.Getenv("AO_HOST_DATA")
	socket := filepath.Join(data, "desk.sock")
	cmd := exec.Command(bin, "-data", data, "-launch", e.Getenv("SELF")+" scripted-harness")
	cmd.Env = e.Vars
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	e.Defer(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("the product had ended before the script: %v", err)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the product ended with %v", err)
			}
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			t.Error("the product did not end")
		}
	})
	c := client.Unix(socket, client.Options{})
	defer func() { _ = c.Close(context.Background()) }()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := c.Version(context.Background()); err == nil {
			break
		} else if time.Now().After(deadline) {
			return fmt.Errorf("the product does not answer: %w", err)
		}
	}
	e.Setenv("SOCKET", socket)
	e.Setenv("WHERE", "--socket="+socket)
	return nil
}
