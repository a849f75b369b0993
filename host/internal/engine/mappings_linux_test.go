package engine_test

import (
	"bytes"
	"os"
	"testing"
)

// mappings counts the memory mappings of this process.
func mappings(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(b, []byte("\n"))
}
