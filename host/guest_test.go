package host_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// buildGuest compiles a module of testdata, as the author of a binding does.
func buildGuest(name string) ([]byte, error) {
	out := filepath.Join(cacheDir, name+".wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, "./testdata/"+name)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build %s: %w\n%s", name, err, b)
	}
	return os.ReadFile(out)
}
