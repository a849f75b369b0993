//go:build unix

package boundedfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/aoagents/ao-host/internal/boundedfile"
)

func TestReadReturnsAFileUpToItsBoundAlsoThroughALink(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(path, []byte("12345678"), 0o600), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		if b, err := boundedfile.Read(name, 8); err != nil || string(b) != "12345678" {
			t.Fatalf("%q, %v", b, err)
		}
	}
	var large *boundedfile.TooLargeError
	if _, err := boundedfile.Read(path, 7); !errors.As(err, &large) || large.Size != 8 || large.Max != 7 {
		t.Fatalf("error %v", err)
	}
	if _, err := boundedfile.Read(filepath.Join(dir, "none"), 8); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v", err)
	}
}

func TestReadRefusesWhatIsNoRegularFileWithoutWaiting(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, "/dev/zero", t.TempDir()} {
		if _, err := boundedfile.Read(name, 8); !errors.Is(err, boundedfile.ErrNotRegular) {
			t.Fatalf("%s: %v", name, err)
		}
	}
}
