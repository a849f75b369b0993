package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/store"
)

// childHolds keeps the folder until it is killed.
func childHolds(dir string) {
	if _, err := store.Open(ctx, dir, store.Options{}); err != nil {
		childFails(err)
	}
	fmt.Println("open")
	select {}
}

func TestD3_TheFolderIsHeldByOneProcessUntilItDiesHoweverItDies(t *testing.T) {
	dir := t.TempDir()
	cmd, lines := child(t, "hold", dir)
	if !lines.Scan() {
		t.Fatal("the child did not open the folder")
	}
	_, err := store.Open(ctx, dir, store.Options{})
	wantCode(t, err, store.CodeLocked)
	if !strings.Contains(err.Error(), strconv.Itoa(cmd.Process.Pid)) {
		t.Fatalf("the holder is not named: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	s := open(t, dir, store.Options{})
	_, err = store.Open(ctx, dir, store.Options{})
	wantCode(t, err, store.CodeLocked)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, store.Options{})
}

func TestD3_AReusedPidInTheLockFileIsNotBlamed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	start, ok := store.ProcessStart(os.Getpid())
	if !ok || start == 0 {
		t.Fatal("no start time of this process")
	}
	name := filepath.Join(dir, "store.lock")
	b, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(b), fmt.Sprint(start)) {
		t.Fatalf("%s %v", b, err)
	}
	for _, content := range []string{fmt.Sprintf(`{"pid":%d,"start":1}`, os.Getpid()), "", "nonsense"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = store.Open(ctx, dir, store.Options{})
		wantCode(t, err, store.CodeLocked)
		if strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
			t.Fatalf("blamed the wrong process: %v", err)
		}
	}
	// A stale lock file alone stops nobody.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, store.Options{})
}

// childOpensUnderUmask opens a store, writes, and waits to be looked at.
func childOpensUnderUmask(dir, mask string) {
	m, err := strconv.ParseInt(mask, 8, 32)
	if err != nil {
		childFails(err)
	}
	setUmask(int(m))
	s, err := store.Open(ctx, dir, store.Options{})
	if err != nil {
		childFails(err)
	}
	if err := s.Write(ctx, func(tx *store.Tx) error { return tx.InsertConversation(ctx, newConversation(mask)) }); err != nil {
		childFails(err)
	}
	if _, err := s.Conversations(ctx); err != nil {
		childFails(err)
	}
	fmt.Println("open")
	select {}
}

func wantPrivate(t *testing.T, dir string, atLeast int) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		seen++
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if fi.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", d.Name(), fi.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || seen < atLeast {
		t.Fatalf("%d files, %v", seen, err)
	}
}

func TestD2_TheModesDoNotFollowTheUmask(t *testing.T) {
	for _, mask := range []string{"0", "022", "077", "0777"} {
		t.Run(mask, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			_, lines := child(t, "umask", dir, mask)
			if !lines.Scan() {
				t.Fatal("the child did not open the folder")
			}
			wantPrivate(t, dir, 5) // folder, data, log, index, lock
		})
	}
}

func TestD2_AFolderAndFilesThatWereOpenToOthersAreClosedToThem(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := open(t, dir, store.Options{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, filepath.Join(dir, "ao-host.db"), filepath.Join(dir, "store.lock")} {
		if err := os.Chmod(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir, store.Options{})
	wantPrivate(t, dir, 5) // folder, data, log, index, lock
}

func TestAFolderInAPlaceWithAnyNameWorks(t *testing.T) {
	for _, name := range []string{"with space + plus", "q?a=b#c%41", "Ünï çödé 日本", `back\slash "quotes" 'single'`, "file:x"} {
		dir := filepath.Join(t.TempDir(), name)
		s := open(t, dir, store.Options{})
		write(t, s, func(tx *store.Tx) error { return tx.InsertConversation(ctx, newConversation("c")) })
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Stat(filepath.Join(dir, "ao-host.db")); err != nil || fi.Size() == 0 {
			t.Fatalf("%s: the data is elsewhere (%v)", name, err)
		}
		if _, err := open(t, dir, store.Options{}).Conversation(ctx, "c"); err != nil {
			t.Fatal(err)
		}
	}
}

// A folder that root cannot write either: a path below a file. Read-only modes do
// not stop root; TestARefusingFileSystemHasACode covers them by injection.
func TestAFolderThatCannotBeMadeIsReadOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		_, err := store.Open(ctx, dir, store.Options{})
		wantCode(t, err, store.CodeReadOnly)
	}
	if os.Getuid() == 0 {
		return
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(ctx, dir, store.Options{})
	wantCode(t, err, store.CodeReadOnly)
	if !errors.Is(err, fs.ErrPermission) {
		t.Fatalf("the cause is lost: %v", err)
	}
}
