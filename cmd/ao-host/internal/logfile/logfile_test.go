package logfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/logfile"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestALogIsBoundedAndLosesNothingOfItsNewestPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	l, err := logfile.Open(path, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 100 {
				if _, err := fmt.Fprintf(l, "writer %d record %03d\n", w, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := fmt.Fprintln(l, "the last one"); err != nil {
		t.Fatal(err)
	}
	all := read(t, path+".1") + read(t, path)
	if len(all) > 2000 || len(read(t, path)) > 1000 {
		t.Errorf("%d bytes are kept", len(all))
	}
	if !strings.HasSuffix(all, "the last one\n") {
		t.Error("the newest record is lost")
	}
	for line := range strings.Lines(all) {
		if !strings.HasPrefix(line, "writer ") && line != "the last one\n" || !strings.HasSuffix(line, "\n") {
			t.Errorf("a record was split: %q", line)
		}
	}
	for _, name := range []string{path, path + ".1"} {
		if fi, err := os.Stat(name); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, fi.Mode(), err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhoElseAppendsGoesOnInTheSameFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	l, err := logfile.Open(path, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	// As the standard error of a daemon.
	other, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for i := range 20 {
		_, _ = fmt.Fprintf(l, "record %d\n", i)
		_, _ = fmt.Fprintf(other, "panic %d\n", i)
	}
	if text := read(t, path); !strings.Contains(text, "panic 19\n") || len(text) > 110 {
		t.Errorf("%q", text)
	}
}

func TestTailReturnsWholeLinesOfBothFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	if b, err := logfile.Tail(path, 100); err != nil || len(b) != 0 {
		t.Errorf("%q, %v", b, err)
	}
	_ = os.WriteFile(path+".1", []byte("one\ntwo\n"), 0o600)
	_ = os.WriteFile(path, []byte("three\nfour\n"), 0o600)
	for n, want := range map[int64]string{100: "one\ntwo\nthree\nfour\n", 12: "three\nfour\n", 6: "four\n", 3: ""} {
		if b, err := logfile.Tail(path, n); err != nil || string(b) != want {
			t.Errorf("%d: %q, %v", n, b, err)
		}
	}
}
