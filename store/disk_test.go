package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
	"pgregory.net/rapid"

	"github.com/aoagents/ao-host/internal/faultydisk"
	"github.com/aoagents/ao-host/store"
)

func newFaultyDisk(t *testing.T) (*faultydisk.Disk, store.Options) {
	d := faultydisk.New(vfs.Find("").(vfs.VFSFilename))
	name := "faulty-" + strings.ReplaceAll(t.Name(), "/", "-")
	t.Cleanup(func() { vfs.Unregister(name) })
	return d, store.Options{}.WithVFS(name, d)
}

// errDiskFull is how the system tells it.
var errDiskFull = &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}

// TestD5_AFullDiskAcknowledgesNothingItDidNotKeepAndLeavesNoGap lets the disk
// run full at any byte, in the log as well as in the data file, again and again.
func TestD5_AFullDiskAcknowledgesNothingItDidNotKeepAndLeavesNoGap(t *testing.T) {
	disk, opts := newFaultyDisk(t)
	opts.WALLimit, opts.MaxBatch = 512<<10, 20
	dir := t.TempDir()
	s := open(t, dir, opts)
	runs := map[string]map[string]bool{} // what was acknowledged, by conversation
	rapid.Check(t, func(t *rapid.T) {
		defer disk.Heal()
		conv := fmt.Sprint(len(runs))
		kept := map[string]bool{}
		runs[conv] = kept
		if err := s.Write(ctx, func(tx *store.Tx) error {
			return tx.InsertConversation(ctx, newConversation(conv))
		}); err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(1, 8).Draw(t, "rounds") {
			full := rapid.Bool().Draw(t, "full")
			if full {
				disk.Fail(rapid.Int64Range(0, 60_000).Draw(t, "room"), errDiskFull)
			}
			size := rapid.IntRange(0, 9000).Draw(t, "size")
			pending := map[string]*store.Pending{}
			for j := range rapid.IntRange(1, 20).Draw(t, "closures") {
				name := fmt.Sprintf("%d.%d", i, j)
				pending[name] = s.Submit(func(tx *store.Tx) error {
					return tx.AppendEvent(ctx, &store.Event{ConversationID: conv, Type: name, Body: make([]byte, size)})
				})
			}
			for name, p := range pending {
				switch err := p.Wait(ctx); {
				case err == nil:
					kept[name] = true
				case full && store.CodeOf(err) == store.CodeFull: // and it must not be there
				default:
					t.Fatalf("closure %s: %v", name, err)
				}
			}
			disk.Heal()
		}
		if err := s.Write(ctx, func(tx *store.Tx) error {
			return tx.AppendEvent(ctx, &store.Event{ConversationID: conv, Type: "at last"})
		}); err != nil {
			t.Fatalf("there is room again: %v", err)
		}
		kept["at last"] = true
		if s.Failing() != nil {
			t.Fatalf("still shown as failing: %v", s.Failing())
		}
		hasExactly(t, s, conv, kept)
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, opts)
	for conv, kept := range runs {
		hasExactly(t, s, conv, kept)
	}
}

func hasExactly(t interface{ Fatalf(string, ...any) }, s *store.Store, conv string, kept map[string]bool) {
	rows, err := s.Events(ctx, conv, 0, 1<<30)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for i, e := range rows {
		if e.Seq != uint64(i+1) || !kept[e.Type] {
			t.Fatalf("event %d is %s with number %d, acknowledged: %v", i+1, e.Type, e.Seq, kept[e.Type])
		}
	}
	c, err := s.Conversation(ctx, conv)
	if err != nil || len(rows) != len(kept) || c.LastSeq != uint64(len(rows)) {
		t.Fatalf("%d events, %d acknowledged, the conversation is at %d (%v)", len(rows), len(kept), c.LastSeq, err)
	}
}

func TestD5_AFullDiskIsShownUntilThereIsRoom(t *testing.T) {
	disk, opts := newFaultyDisk(t)
	s := withConversations(t, opts, "c")
	var told []uint64
	s.Notify(func(_ string, last uint64) { told = append(told, last) })
	one := func(tx *store.Tx) error { return appendEvents(tx, "c", 1) }
	disk.Fail(0, errDiskFull)
	for range 3 {
		wantCode(t, s.Write(ctx, one), store.CodeFull)
		if store.CodeOf(s.Failing()) != store.CodeFull {
			t.Fatalf("not shown: %v", s.Failing())
		}
		if rows := seqs(t, s, "c"); len(rows) != 0 {
			t.Fatalf("reads see what was not kept: %v", rows)
		}
	}
	disk.Heal()
	write(t, s, one)
	if s.Failing() != nil || len(told) != 1 || told[0] != 1 {
		t.Fatalf("%v, told %v", s.Failing(), told)
	}
}

func TestARefusingFileSystemHasACode(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code string
	}{
		"full":              {errDiskFull, store.CodeFull},
		"over quota":        {&os.PathError{Err: syscall.EDQUOT}, store.CodeFull},
		"file too large":    {&os.PathError{Err: syscall.EFBIG}, store.CodeFull},
		"read-only":         {&os.PathError{Err: syscall.EROFS}, store.CodeReadOnly},
		"sqlite's readonly": {sqlite3.READONLY, store.CodeReadOnly},
		"input/output":      {&os.PathError{Err: syscall.EIO}, store.CodeFailed},
		"corrupt":           {sqlite3.CORRUPT, store.CodeCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			disk, opts := newFaultyDisk(t)
			s := withConversations(t, opts, "c")
			one := func(tx *store.Tx) error { return appendEvents(tx, "c", 1) }
			disk.Fail(0, c.err)
			wantCode(t, s.Write(ctx, one), c.code)
			disk.Heal()
			write(t, s, one)
			if got := seqs(t, s, "c"); len(got) != 1 || got[0] != 1 {
				t.Fatalf("numbers %v", got)
			}
		})
		t.Run(name+" at the first start", func(t *testing.T) {
			disk, opts := newFaultyDisk(t)
			dir := t.TempDir()
			disk.Fail(0, c.err)
			_, err := store.Open(ctx, dir, opts)
			wantCode(t, err, c.code)
			disk.Heal()
			addConversation(t, open(t, dir, opts), "c")
		})
	}
}

func TestRule19_AFailedSyncIsNoCommit(t *testing.T) {
	disk, opts := newFaultyDisk(t)
	s := withConversations(t, opts, "c")
	one := func(tx *store.Tx) error { return appendEvents(tx, "c", 1) }
	disk.FailSync()
	wantCode(t, s.Write(ctx, one), store.CodeFailed)
	disk.Heal()
	write(t, s, one)
	if got := seqs(t, s, "c"); len(got) != 1 || got[0] != 1 {
		t.Fatalf("numbers %v", got)
	}
}

func TestAClosureThatIgnoresALostTransactionIsToldAnyway(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	openGate, in := gate(s)
	<-in
	neighbour := s.Submit(func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
	lost := s.Submit(func(tx *store.Tx) error {
		tx.LoseTransaction()
		// Neither of them may be written, now that there is no transaction.
		_ = appendEvents(tx, "c", 1)
		_ = tx.InsertConversation(ctx, newConversation("d"))
		return nil
	})
	after := s.Submit(func(tx *store.Tx) error { return appendEvents(tx, "c", 2) })
	openGate()
	wantCode(t, lost.Wait(ctx), store.CodeFailed)
	wantCode(t, neighbour.Wait(ctx), store.CodeFailed)
	if err := after.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if got := seqs(t, s, "c"); !slices.Equal(got, []uint64{1, 2}) {
		t.Fatalf("numbers %v", got)
	}
	_, err := s.Conversation(ctx, "d")
	wantCode(t, err, store.CodeNotFound)
}

func TestD5_ARealFileSystemThatRunsFull(t *testing.T) {
	dir := t.TempDir()
	if err := mountSmall(dir, 3<<20); err != nil {
		t.Skipf("needs the right to mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unmount(dir); err != nil {
			t.Error(err)
		}
	})
	s := open(t, filepath.Join(dir, "data"), store.Options{WALLimit: 64 << 10})
	addConversation(t, s, "c")
	large := func(tx *store.Tx) error {
		return tx.AppendEvent(ctx, &store.Event{ConversationID: "c", Body: make([]byte, 200<<10)})
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := 0
	var err error
	for range 50 {
		if err = s.Write(ctx, large); err != nil {
			break
		}
		kept++
	}
	wantCode(t, err, store.CodeFull)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	write(t, s, large)
	if got := seqs(t, s, "c"); len(got) != kept+1 || got[kept] != uint64(kept+1) {
		t.Fatalf("numbers %v after %d", got, kept)
	}
}
