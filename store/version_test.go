package store_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/aoagents/ao-host/store"
)

// withMigration is the embedded migrations and one more.
func withMigration(t *testing.T, sql string) (fs.FS, int64) {
	t.Helper()
	known, err := store.KnownVersion()
	if err != nil {
		t.Fatal(err)
	}
	out := fstest.MapFS{}
	names, err := fs.Glob(store.Migrations(), "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := fs.ReadFile(store.Migrations(), name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = &fstest.MapFile{Data: b}
	}
	next := known + 1
	sql = fmt.Sprintf("-- +goose Up\nPRAGMA user_version = %d;\n%s\n", next, sql)
	out[fmt.Sprintf("%04d_test.sql", next)] = &fstest.MapFile{Data: []byte(sql)}
	return out, next
}

// image is all that can be told about a folder: names, bytes, times and modes.
func image(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		var b []byte
		if !d.IsDir() {
			if b, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		out[strings.TrimPrefix(path, dir)] = fmt.Sprintf("%x %v %v", sha256.Sum256(b), fi.ModTime(), fi.Mode())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func mainHeaderVersion(t *testing.T, path string) int64 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return int64(binary.BigEndian.Uint32(b[60:]))
}

func addConversation(t *testing.T, s *store.Store, id string) {
	t.Helper()
	write(t, s, func(tx *store.Tx) error { return tx.InsertConversation(ctx, newConversation(id)) })
}

func refusesAndWritesNothing(t *testing.T, dir string, newer int64) {
	t.Helper()
	before := image(t, dir)
	_, err := store.Open(ctx, dir, store.Options{})
	wantCode(t, err, store.CodeNewer)
	for _, v := range []string{fmt.Sprintf("version %d", newer), fmt.Sprintf("up to %d", newer-1)} {
		if !strings.Contains(err.Error(), v) {
			t.Fatalf("%v does not name %q", err, v)
		}
	}
	if d := cmp.Diff(before, image(t, dir)); d != "" {
		t.Fatalf("the refusal changed the folder:\n%s", d)
	}
}

func TestD6_ANewerFileIsRefusedWithBothVersionsAndLeftUntouched(t *testing.T) {
	newer, version := withMigration(t, "CREATE TABLE later (id INTEGER PRIMARY KEY);")
	dir := t.TempDir()
	s := open(t, dir, store.Options{}.WithMigrations(newer))
	addConversation(t, s, "c")
	t.Run("while the newer program has it open", func(t *testing.T) { refusesAndWritesNothing(t, dir, version) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("closed", func(t *testing.T) { refusesAndWritesNothing(t, dir, version) })
	t.Run("in a folder that is open to others and has no lock", func(t *testing.T) {
		other := t.TempDir()
		copyFile(t, filepath.Join(dir, "ao-host.db"), filepath.Join(other, "ao-host.db"))
		if err := os.Chmod(other, 0o755); err != nil {
			t.Fatal(err)
		}
		refusesAndWritesNothing(t, other, version)
	})
}

func TestD6_ANewerVersionThatIsOnlyInTheLogCounts(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	if err := open(t, dir, store.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	newer, version := withMigration(t, "CREATE TABLE later (id INTEGER PRIMARY KEY);")
	s := open(t, dir, store.Options{}.WithMigrations(newer))
	addConversation(t, s, "c")
	// What a crash leaves behind.
	for _, name := range []string{"ao-host.db", "ao-host.db-wal"} {
		copyFile(t, filepath.Join(dir, name), filepath.Join(other, name))
	}
	path := filepath.Join(other, "ao-host.db")
	if v := mainHeaderVersion(t, path); v != version-1 {
		t.Fatalf("the data file itself says version %d, so this proves nothing", v)
	}
	refusesAndWritesNothing(t, other, version)
}

func TestTheVersionReadFromTheLogIsTheOneSQLiteSees(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	exec := func(sql string) {
		t.Helper()
		if err := c.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	peek := func(want int64) {
		t.Helper()
		if v, err := store.PeekVersion(path); err != nil || v != want {
			t.Fatalf("version %d, want %d (%v)", v, want, err)
		}
	}
	exec(`PRAGMA application_id = 1634691187; PRAGMA journal_mode = wal; CREATE TABLE t (b); PRAGMA wal_autocheckpoint = 0`)
	for v := int64(1); v <= 5; v++ {
		exec(fmt.Sprintf(`PRAGMA user_version = %d`, v))
		peek(v)
		exec(`INSERT INTO t VALUES (zeroblob(20000))`)
		peek(v)
		if v == 3 { // old frames stay behind the new ones
			exec(`PRAGMA wal_checkpoint(RESTART)`)
			peek(v)
		}
	}
	// A log that ends before the commit does not count. Page 1 is its first frame.
	exec(`BEGIN; PRAGMA user_version = 9; INSERT INTO t VALUES (zeroblob(20000)); COMMIT`)
	peek(9)
	b, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-wal", b[:cutLastFrame(b)], 0o600); err != nil {
		t.Fatal(err)
	}
	peek(5)
	// From the first damaged frame on the log is void, as to SQLite.
	b[32+24+60] ^= 1
	if err := os.WriteFile(path+"-wal", b, 0o600); err != nil {
		t.Fatal(err)
	}
	peek(3)
}

// cutLastFrame is where the last frame with the newest salt begins to be
// incomplete: frames of an older round may follow it.
func cutLastFrame(wal []byte) int {
	at := 32
	for at+4120 <= len(wal) && string(wal[at+8:at+16]) == string(wal[16:24]) {
		at += 4120
	}
	return at - 1
}

func TestD6_ABackupIsTakenBeforeTheFirstMigrationOfAnExistingFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	addConversation(t, s, "from before")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	backups := func() []string {
		names, err := filepath.Glob(filepath.Join(dir, "backup-*"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	if err := open(t, dir, store.Options{}).Close(); err != nil || len(backups()) > 0 {
		t.Fatalf("a backup without a migration: %v %v", backups(), err)
	}
	newer, version := withMigration(t, "DELETE FROM conversation;")
	s = open(t, dir, store.Options{}.WithMigrations(newer))
	if rows, err := s.Conversations(ctx); err != nil || len(rows) > 0 {
		t.Fatalf("the migration did not run: %v %v", rows, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, fmt.Sprintf("backup-%d-20260801T120000Z.db", version-1))
	if got := backups(); len(got) != 1 || got[0] != want {
		t.Fatalf("backups %v, want %s", got, want)
	}
	wantPrivate(t, dir, 4) // folder, data, lock, backup

	restored := t.TempDir()
	copyFile(t, want, filepath.Join(restored, "ao-host.db"))
	s = open(t, restored, store.Options{})
	if _, err := s.Conversation(ctx, "from before"); err != nil {
		t.Fatal(err)
	}
	addConversation(t, s, "afterwards")
}

func TestD6_AFailedMigrationLeavesTheOldVersionAndItsBackup(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	addConversation(t, s, "c")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	broken, _ := withMigration(t, "DELETE FROM conversation;\nINSERT INTO nowhere VALUES (1);")
	now := epoch
	for range 5 {
		now = now.Add(time.Second)
		_, err := store.Open(ctx, dir, store.Options{Now: func() time.Time { return now }}.WithMigrations(broken))
		wantCode(t, err, store.CodeFailed)
	}
	names, err := filepath.Glob(filepath.Join(dir, "backup-*"))
	if err != nil || len(names) != 3 {
		t.Fatalf("backups %v %v", names, err)
	}
	if last := filepath.Base(names[2]); !strings.HasSuffix(last, "T120005Z.db") {
		t.Fatalf("the newest backup is gone: %v", names)
	}
	if _, err := open(t, dir, store.Options{}).Conversation(ctx, "c"); err != nil {
		t.Fatal(err)
	}
}

func TestD6_TheBackupThatWasJustTakenAndAPersonsOwnAreNotTheOnesRemoved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	addConversation(t, s, "from before")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// Earlier upgrades; the clock was set back since.
	later := time.Now().Add(48 * time.Hour)
	earlier := []string{"backup-1-20260901T000000Z.db", "backup-2-20260902T000000Z.db", "backup-3-20260903T000000Z.db"}
	own := []string{"backup-mine.db", "backup-before-the-holidays.db"}
	for i, name := range slices.Concat(earlier, own) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, later, later.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	newer, version := withMigration(t, "DELETE FROM conversation;")
	if err := open(t, dir, store.Options{}.WithMigrations(newer)).Close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "backup-*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	slices.Sort(names)
	taken := fmt.Sprintf("backup-%d-20260801T120000Z.db", version-1)
	want := slices.Sorted(slices.Values(slices.Concat(earlier[1:], own, []string{taken})))
	if !slices.Equal(names, want) {
		t.Errorf("left are %q, want %q", names, want)
	}
}

// TestD6_ALandedMigrationIsNeverEdited pins the digests. Add a line for a new
// migration; a changed line means that files in the field differ from the schema.
func TestD6_ALandedMigrationIsNeverEdited(t *testing.T) {
	pinned := map[string]string{
		"0001_initial.sql":      "b6d31dbadd16410c5b031c3e1074c38256312571ad541c3120283b075b2bc3e0",
		"0002_turn_version.sql": "181d8588fc353c8bd7e083c2ab51737ce8b57f62bacc3eac8777f2770a8c92d9",
		"0004_deletion.sql":     "f4b7c8e192118ad969ea467515dc92c0a1f81c9495399a38f6f74e370c8facb9",
		"0005_retention.sql":    "48a129d38f79f9f14fd59dcf7748f5aa71ff215f2ab1541ecc1830ace87cd6f8",
		"0006_own_settings.sql": "dc02fb0ad184105fc1718affcfd2a50d8611d42f12c9c93a3d3aa1bc0cac3620",
		"0003_compaction.sql":   "19ae96b1d47643803d49bcda93d5ab0807c7441fe2516d6e0e27b61e525e4d2a",
	}
	got := map[string]string{}
	names, err := fs.Glob(store.Migrations(), "*")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		b, err := fs.ReadFile(store.Migrations(), name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		got[name] = hex.EncodeToString(sum[:])
		if v := fmt.Sprintf("PRAGMA user_version = %d;", i+1); !strings.Contains(string(b), v) {
			t.Errorf("%s does not contain %q", name, v)
		}
		if strings.Contains(string(b), "+goose Down") || strings.Contains(string(b), "NO TRANSACTION") {
			t.Errorf("%s goes back or runs outside of a transaction", name)
		}
	}
	if !maps.Equal(pinned, got) {
		t.Fatalf("-pinned +found\n%s", cmp.Diff(pinned, got))
	}
}

func TestAFreshFileHasTheVersionOfTheNewestMigration(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir, store.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	known, err := store.KnownVersion()
	if err != nil {
		t.Fatal(err)
	}
	if v, err := store.PeekVersion(filepath.Join(dir, "ao-host.db")); err != nil || v != known {
		t.Fatalf("version %d, want %d (%v)", v, known, err)
	}
}

func TestAFileThatIsNotOursIsRefusedAndLeftAsItIs(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	make := func(sql string) []byte {
		t.Helper()
		_ = os.Remove(foreign)
		c, err := sqlite3.Open(foreign)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.Exec(sql), c.Close()); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(foreign)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, content := range map[string][]byte{
		"text":                  []byte(strings.Repeat("this is no database ", 500)),
		"a few bytes":           []byte("SQLite"),
		"half a header":         []byte("SQLite format 3\x00\x10\x00"),
		"another program's":     make(`CREATE TABLE notes (n); PRAGMA user_version = 1; PRAGMA application_id = 7`),
		"another, without mark": make(`CREATE TABLE notes (n)`),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "ao-host.db")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := store.Open(ctx, dir, store.Options{})
			wantCode(t, err, store.CodeCorrupt)
			if name == "another, without mark" {
				return // SQLite had to look, and notes its own mode in the header
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != string(content) {
				t.Fatalf("the file was changed (%v)", err)
			}
		})
	}
}

func TestACreationThatWasCutShortIsFinished(t *testing.T) {
	for name, sql := range map[string]string{
		"empty file":         "",
		"only the mode":      "PRAGMA journal_mode = wal",
		"only goose's table": "PRAGMA journal_mode = wal; CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now'))); INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c, err := sqlite3.Open(filepath.Join(dir, "ao-host.db"))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(c.Exec(sql), c.Close()); err != nil {
				t.Fatal(err)
			}
			addConversation(t, open(t, dir, store.Options{}), "c")
		})
	}
}

func TestDamageInsideTheFileIsCalledDamage(t *testing.T) {
	dir := t.TempDir()
	s := withRows(t, dir, 2000)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ao-host.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newer, _ := withMigration(t, "CREATE TABLE later (id INTEGER PRIMARY KEY);")
	found := 0
	for page := 1; page < len(whole)/4096; page += 1 + page/8 { // the schema is in front
		damaged := append([]byte(nil), whole...)
		for i := range 4096 {
			damaged[page*4096+i] = byte(i*7 + page)
		}
		for _, opts := range []store.Options{{Now: clock}, store.Options{Now: clock}.WithMigrations(newer)} {
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, err := range useAll(dir, opts) {
				switch store.CodeOf(err) {
				case store.CodeCorrupt:
					found++
				case "":
					if err != nil {
						t.Fatalf("page %d: %v has no code", page, err)
					}
				default:
					t.Fatalf("page %d: %v", page, err)
				}
			}
		}
	}
	if found == 0 {
		t.Fatal("no damage was found")
	}
}

func withRows(t *testing.T, dir string, n int) *store.Store {
	t.Helper()
	s := open(t, dir, store.Options{})
	addConversation(t, s, "c")
	write(t, s, func(tx *store.Tx) error { return appendEvents(tx, "c", n) })
	return s
}

// useAll opens a store, reads and writes, and returns what failed.
func useAll(dir string, opts store.Options) []error {
	s, err := store.Open(ctx, dir, opts)
	if err != nil {
		return []error{err}
	}
	_, reading := s.Events(ctx, "c", 0, 1<<30)
	writing := s.Write(ctx, func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
	return []error{reading, writing, s.Close()}
}
