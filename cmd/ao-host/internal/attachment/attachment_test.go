package attachment_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/attachment"
	"github.com/aoagents/ao-host/host"
)

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAFileIsFoundByTheNameThatAPersonOrATerminalTypes(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", dir)
	write(t, "my shot.png", []byte("\x89PNG\r\n\x1a\n"))
	write(t, `'odd'`, []byte("text"))
	for typed, name := range map[string]string{
		"my shot.png": "my shot.png", "  my shot.png ": "my shot.png", `my\ shot.png`: "my shot.png", `"my shot.png"`: "my shot.png",
		"'my shot.png'": "my shot.png", "~/my shot.png": "my shot.png", `~/my\ shot.png`: "my shot.png",
		filepath.Join(dir, "my shot.png"): "my shot.png", "'odd'": "'odd'",
	} {
		c, err := attachment.Read(typed)
		if err != nil || c.Name != name || len(c.Bytes) == 0 {
			t.Errorf("%q: %+v %v", typed, c, err)
		}
	}
}

func TestTheTypeFollowsFromTheNameElseFromTheBytes(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n")
	for _, c := range []struct {
		name  string
		bytes []byte
		want  abi.ContentType
		media string
	}{
		{"a.png", []byte("no image"), abi.ContentImage, "image/png"}, {"shot", png, abi.ContentImage, "image/png"},
		{"a.html", png, abi.ContentFile, "text/html"}, {"notes", []byte("text"), abi.ContentFile, "text/plain"},
	} {
		if got := attachment.Of("/p/"+c.name, c.bytes); got.Type != c.want || got.Media != c.media || got.Name != c.name {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestWhatCannotBeAttachedIsRefusedWithoutWaiting(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "empty", nil)
	if err := errors.Join(syscall.Mkfifo("pipe", 0o600), os.Mkdir("folder", 0o700)); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create("large")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(1<<30), f.Close()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]host.Code{"empty": host.CodeEmptyMessage, "large": host.CodeMessageTooLarge, "pipe": "", "folder": "", "none": ""} {
		_, err := attachment.Read(name)
		if err == nil || host.CodeOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := attachment.Read("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestOfAFileThatAShellNamedNoMoreIsReadThanCouldBeSent(t *testing.T) {
	large, pipe := filepath.Join(t.TempDir(), "large.png"), filepath.Join(t.TempDir(), "pipe.txt")
	write(t, large, nil)
	if err := errors.Join(os.Truncate(large, 1<<40), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{large, "/dev/zero"} {
		if _, err := attachment.ReadNamed(path); host.CodeOf(err) != host.CodeMessageTooLarge {
			t.Errorf("%s: %v", path, err)
		}
	}
	go func() { _ = os.WriteFile(pipe, []byte("from a command"), 0o600) }()
	if c, err := attachment.ReadNamed(pipe); err != nil || string(c.Bytes) != "from a command" || c.Name != "pipe.txt" {
		t.Errorf("a pipe: %+v %v", c, err)
	}
}
