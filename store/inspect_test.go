package store_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aoagents/ao-host/store"
)

// listing is what is in a folder, with sizes and times.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = fi.Mode().String() + " " + fi.ModTime().String()
	}
	return out
}

func same(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

func TestInspectTellsTheStateOfAFolderAndChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "yet")
	c := store.Inspect(dir)
	if c.Exists || c.Problem != nil || c.Holder != 0 || c.FreeBytes <= 0 || c.Known < 1 {
		t.Errorf("no folder: %+v", c)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder was made")
	}
	s, err := store.Open(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c = store.Inspect(dir); !c.Exists || c.Holder != os.Getpid() || c.Problem == nil || c.Problem.Code != store.CodeLocked || c.DataBytes == 0 || c.Schema != c.Known || c.Mode != 0o700 {
		t.Errorf("an open folder: %+v", c)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	// This process lives and its record is still there, but it has closed the folder.
	if c = store.Inspect(dir); c.Holder != 0 || c.Problem != nil || !c.Exists {
		t.Errorf("a closed folder: %+v", c)
	}
	if err := os.WriteFile(filepath.Join(dir, "backup-1-20260101T000000Z.db"), make([]byte, 77), 0o600); err != nil {
		t.Fatal(err)
	}
	if c = store.Inspect(dir); c.BackupBytes != 77 {
		t.Errorf("backups: %+v", c)
	}
	_ = os.Remove(filepath.Join(dir, "backup-1-20260101T000000Z.db"))
	if after := listing(t, dir); !same(before, after) {
		t.Errorf("it changed %v to %v", before, after)
	}
}

func TestInspectTellsWhyAFolderCannotBeOpened(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string)
		code string
	}{
		"foreign": {func(t *testing.T, dir string) { spoil(t, dir, 0, []byte("no database")) }, store.CodeCorrupt},
		"newer":   {func(t *testing.T, dir string) { spoil(t, dir, 60, []byte{0, 0, 0, 99}) }, store.CodeNewer},
		"a file in its place": {func(t *testing.T, dir string) {
			_ = os.RemoveAll(dir)
			if err := os.WriteFile(dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, store.CodeReadOnly},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			s, err := store.Open(t.Context(), dir, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			_ = s.Close()
			c.make(t, dir)
			_, want := store.Open(t.Context(), dir, store.Options{})
			if got := store.Inspect(dir); got.Problem == nil || got.Problem.Code != c.code || store.CodeOf(want) != c.code {
				t.Errorf("%+v; open says %v", got, want)
			}
			if _, err := store.OpenSnapshot(t.Context(), dir); err == nil {
				t.Error("it was opened for reading")
			}
		})
	}
}

// spoil overwrites a part of the data file.
func spoil(t *testing.T, dir string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "ao-host.db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestASnapshotReadsAFolderThatIsOpenAndOneThatIsClosed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := store.OpenSnapshot(t.Context(), dir); store.CodeOf(err) != store.CodeNotFound {
		t.Fatalf("no folder: %v", err)
	}
	s, err := store.Open(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	put := func(id string) {
		t.Helper()
		err := s.Write(t.Context(), func(tx *store.Tx) error {
			return tx.InsertConversation(t.Context(), store.Conversation{ID: id, Harness: "demo", Cwd: "/", Settings: []byte(`{}`), CreatedAt: time.Unix(1, 0), UpdatedAt: time.Unix(1, 0)})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	count := func(want int) {
		t.Helper()
		snap, err := store.OpenSnapshot(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		all, err := snap.Conversations(t.Context())
		if err != nil || len(all) != want {
			t.Errorf("%d conversations, want %d: %v", len(all), want, err)
		}
		if err := snap.Close(); err != nil {
			t.Error(err)
		}
	}
	put("a")
	count(1)
	put("b")
	count(2)
	// The writer goes on undisturbed and its log can be given back.
	put("c")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	count(3)
	if s, err = store.Open(t.Context(), dir, store.Options{}); err != nil {
		t.Fatal(err)
	}
	put("d")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
