package store_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/aoagents/ao-host/store"
)

// traceOf is text that stands in every body of a conversation and nowhere else.
func traceOf(id string) string { return "TRACE-OF-" + id + ";" }

// rowsOf writes a row of every kind for a conversation that is there already. Its own
// attachment and one that it shares with others are among them.
func rowsOf(t *testing.T, s *store.Store, id string) {
	t.Helper()
	trace := []byte(strings.Repeat(traceOf(id), 20))
	write(t, s, func(tx *store.Tx) error {
		return errors.Join(
			tx.PutBlob(ctx, id, store.Blob{Digest: "own-" + id, Bytes: trace}),
			tx.PutBlob(ctx, id, store.Blob{Digest: "shared", Bytes: []byte("SHARED")}),
			tx.InsertTurn(ctx, store.Turn{ID: "turn-" + id, ConversationID: id, Position: 1, ClientID: "m", Content: trace, Settings: trace, Reply: trace, ErrorMessage: string(trace)}),
			tx.InsertGeneration(ctx, store.Generation{ConversationID: id, Number: 1, Exit: trace}),
			tx.InsertInteraction(ctx, store.Interaction{ID: "card-" + id, ConversationID: id, Body: trace, Reply: trace}),
			tx.InsertProposal(ctx, store.Proposal{ID: "plan-" + id, ConversationID: id, Body: trace}),
			tx.AppendInput(ctx, store.Input{ConversationID: id, Generation: 1, Seq: 1, Body: trace}),
			tx.InsertOutbox(ctx, store.Outbox{ConversationID: id, Generation: 1, ID: 1, Frame: trace}),
			tx.SetTimer(ctx, store.Timer{ConversationID: id, Generation: 1, Name: string(trace), Due: epoch}),
			tx.SaveState(ctx, store.SavedState{ConversationID: id, Generation: 1, State: trace}),
			tx.PutIdempotent(ctx, "key-"+id, id, trace),
			tx.AppendEvent(ctx, &store.Event{ConversationID: id, TurnID: "turn-" + id, Type: "item", Body: trace}),
		)
	})
}

// traces counts a text in all files of a folder.
func traces(t *testing.T, dir, text string) (n int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(b, []byte(text))
	}
	return n
}

func deleteConversation(t *testing.T, s *store.Store, id string) {
	t.Helper()
	write(t, s, func(tx *store.Tx) error { return tx.DeleteConversation(ctx, id) })
}

func TestOfADeletedConversationNothingIsLeftInAnyFileAndTheOthersKeepAll(t *testing.T) {
	s := withConversations(t, store.Options{}, "c", "d")
	rowsOf(t, s, "c")
	rowsOf(t, s, "d")
	if traces(t, s.Dir(), traceOf("c")) == 0 {
		t.Fatal("nothing of it is in the files before either, so this proves nothing")
	}
	deleteConversation(t, s, "c")
	for what, err := range map[string]error{
		"the row":   func() error { _, err := s.Conversation(ctx, "c"); return err }(),
		"an event":  s.Write(ctx, func(tx *store.Tx) error { return tx.AppendEvent(ctx, &store.Event{ConversationID: "c"}) }),
		"a turn":    s.Write(ctx, func(tx *store.Tx) error { return tx.InsertTurn(ctx, store.Turn{ID: "t", ConversationID: "c"}) }),
		"a change":  s.Write(ctx, func(tx *store.Tx) error { return tx.UpdateConversation(ctx, newConversation("c")) }),
		"settings":  s.Write(ctx, func(tx *store.Tx) error { _, err := tx.UpdateSettings(ctx, "c", 0, nil); return err }),
		"once more": s.Write(ctx, func(tx *store.Tx) error { return tx.DeleteConversation(ctx, "c") }),
	} {
		if store.CodeOf(err) != store.CodeNotFound {
			t.Errorf("%s after the deletion: %v", what, err)
		}
	}
	if all, err := s.Conversations(ctx); err != nil || len(all) != 1 || all[0].ID != "d" {
		t.Fatalf("conversations %v, %v", all, err)
	}
	if err := s.Removed(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if n := traces(t, s.Dir(), traceOf("c")); n > 0 {
		t.Errorf("%d traces are left", n)
	}
	db := foreign(t, s)
	for _, table := range []string{
		"conversation WHERE id", "turn WHERE conversation_id", "generation WHERE conversation_id", "interaction WHERE conversation_id",
		"proposal WHERE conversation_id", "input WHERE conversation_id", "outbox WHERE conversation_id", "timer WHERE conversation_id",
		"saved_state WHERE conversation_id", "event WHERE conversation_id", "idempotency WHERE conversation_id",
		"attachment_use WHERE conversation_id", "attachment WHERE 'own-c' = digest AND 'c'",
	} {
		count := func(id string) (n int) {
			if err := db.QueryRow("SELECT count(*) FROM "+strings.ReplaceAll(table, "-c'", "-"+id+"'")+" = ?", id).Scan(&n); err != nil {
				t.Fatal(table, err)
			}
			return n
		}
		if n := count("c"); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
		if n := count("d"); n == 0 && !strings.HasPrefix(table, "attachment WHERE") {
			t.Errorf("the other conversation has no row in %s any more", table)
		}
	}
	for _, digest := range []string{"shared", "own-d"} {
		if _, err := s.Blob(ctx, digest); err != nil {
			t.Error(digest, err)
		}
	}
	deleteConversation(t, s, "d")
	if err := s.Removed(ctx, "d"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Blob(ctx, "shared"); store.CodeOf(err) != store.CodeNotFound {
		t.Errorf("an attachment that nobody has any more: %v", err)
	}
	addConversation(t, s, "c")
	if got := seqs(t, s, "c"); len(got) != 0 {
		t.Errorf("a new conversation of the same id begins with the events %v", got)
	}
}

// TestNoTraceIsLeftInPagesThatDeletedConversationsShareWithOthers: SQLite moves cells
// between pages and leaves copies of them behind.
func TestNoTraceIsLeftInPagesThatDeletedConversationsShareWithOthers(t *testing.T) {
	for seed := range uint64(3) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var ids []string
		for i := range 12 {
			ids = append(ids, fmt.Sprintf("c%02d", i))
		}
		s := withConversations(t, store.Options{}, ids...)
		for k := range 2000 {
			id := ids[rnd.IntN(len(ids))]
			size := 1 + rnd.IntN(30)
			if rnd.IntN(10) == 0 {
				size = rnd.IntN(700)
			}
			body := []byte(strings.Repeat(traceOf(id), size))
			done := s.SubmitNow(func(tx *store.Tx) error {
				if k%7 == 0 {
					return tx.InsertTurn(ctx, store.Turn{ID: fmt.Sprintf("%016x", rnd.Uint64()), ConversationID: id, Position: int64(k), ClientID: fmt.Sprint(k), Content: body})
				}
				return tx.AppendEvent(ctx, &store.Event{ConversationID: id, Body: body})
			})
			if err := done.Wait(ctx); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range ids[:10] {
			deleteConversation(t, s, id)
			if err := s.Removed(ctx, id); err != nil {
				t.Fatal(err)
			}
			if n := traces(t, s.Dir(), traceOf(id)); n > 0 {
				t.Errorf("%d traces of %s are left", n, id)
			}
		}
		for _, id := range ids[10:] {
			if traces(t, s.Dir(), traceOf(id)) == 0 {
				t.Errorf("nothing is left of %s, which was not deleted", id)
			}
		}
		var result string
		if err := foreign(t, s).QueryRow("PRAGMA integrity_check").Scan(&result); err != nil || result != "ok" {
			t.Fatal(result, err)
		}
	}
}

func TestADeletionThatFailsWithItsClosureDidNotHappen(t *testing.T) {
	s := withConversations(t, store.Options{}, "c", "d")
	rowsOf(t, s, "c")
	var cuts []store.Cut
	s.NotifyCut(func(c store.Cut) { cuts = append(cuts, c) })
	failed := errors.New("no")
	first := s.Submit(func(tx *store.Tx) error { return tx.AppendEvent(ctx, &store.Event{ConversationID: "c"}) })
	second := s.Submit(func(tx *store.Tx) error { return errors.Join(tx.DeleteConversation(ctx, "c"), failed) })
	third := s.Submit(func(tx *store.Tx) error {
		if err := tx.DeleteConversation(ctx, "d"); err != nil {
			return err
		}
		if err := tx.AppendEvent(ctx, &store.Event{ConversationID: "d"}); store.CodeOf(err) != store.CodeNotFound {
			return fmt.Errorf("an event of a conversation that is deleted: %w", err)
		}
		return tx.AppendEvent(ctx, &store.Event{ConversationID: "c"})
	})
	if err := errors.Join(first.Wait(ctx), third.Wait(ctx)); err != nil {
		t.Fatal(err)
	}
	if err := second.Wait(ctx); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if err := errors.Join(s.Removed(ctx, "c"), s.Removed(ctx, "d")); err != nil {
		t.Fatal(err)
	}
	if got := seqs(t, s, "c"); !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("events %v", got)
	}
	if want := []store.Cut{{Conversation: "d", UpTo: math.MaxUint64, Deleted: true}}; !slices.Equal(cuts, want) {
		t.Errorf("cuts %v", cuts)
	}
}

func TestADeletionThatACloseCutShortIsFinishedAfterTheNextOpen(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, store.Options{})
	addConversation(t, s, "c")
	longTurn(t, s, 200)
	done := s.SubmitNow(func(tx *store.Tx) error {
		err := tx.DeleteConversation(ctx, "c")
		go func() { _ = s.Close() }()
		for !s.QueueClosed() {
			time.Sleep(time.Millisecond)
		}
		return err
	})
	if err := done.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Removed(ctx, "c"); store.CodeOf(err) != store.CodeClosed {
		t.Fatalf("the wait for the rest ended with %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if traces(t, dir, "xxxxxxxx") == 0 {
		t.Fatal("everything was removed in one transaction, so this proves nothing")
	}
	s = open(t, dir, store.Options{})
	if _, err := s.Conversation(ctx, "c"); store.CodeOf(err) != store.CodeNotFound {
		t.Fatal(err)
	}
	if err := s.Removed(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if n := traces(t, dir, "xxxxxxxx"); n > 0 {
		t.Errorf("%d traces are left", n)
	}
}

// childDeletes deletes a long conversation and says when that is committed.
func childDeletes(dir string) {
	s, err := store.Open(ctx, dir, store.Options{})
	if err == nil {
		err = s.Write(ctx, func(tx *store.Tx) error { return tx.DeleteConversation(ctx, "c") })
	}
	if err != nil {
		childFails(err)
	}
	fmt.Println("deleted")
	if err := s.Removed(ctx, "c"); err != nil {
		childFails(err)
	}
	fmt.Println("removed")
	select {}
}

func TestADeletionThatAKillCutShortIsFinishedAfterTheNextOpen(t *testing.T) {
	for _, until := range []string{"", "deleted", "removed"} {
		dir := t.TempDir()
		s := open(t, dir, store.Options{})
		addConversation(t, s, "c")
		longTurn(t, s, 300)
		rowsOf(t, s, "c")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		cmd, lines := child(t, "delete", dir)
		for until != "" && lines.Scan() && lines.Text() != until {
			continue
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		s = open(t, dir, store.Options{})
		_, err := s.Conversation(ctx, "c")
		switch {
		case err == nil && until == "":
			if n := len(seqs(t, s, "c")); n != 301 {
				t.Fatalf("it is there with %d events", n)
			}
			continue
		case store.CodeOf(err) != store.CodeNotFound:
			t.Fatal(until, err)
		}
		if err := s.Removed(ctx, "c"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "no trace", func() bool { return traces(t, dir, "xxxxxxxx")+traces(t, dir, traceOf("c")) == 0 })
	}
}

func TestARemovalThatTheDiskStopsIsToldAndGoneOnWith(t *testing.T) {
	disk, opts := newFaultyDisk(t)
	s := withConversations(t, opts, "c", "d")
	longTurn(t, s, 200)
	s.NotifyCut(func(store.Cut) { disk.Fail(0, syscall.ENOSPC) })
	deleteConversation(t, s, "c")
	if err := s.Removed(ctx, "c"); store.CodeOf(err) != store.CodeFull {
		t.Fatalf("the wait ended with %v", err)
	}
	disk.Heal()
	write(t, s, func(tx *store.Tx) error { return tx.AppendEvent(ctx, &store.Event{ConversationID: "d"}) })
	if err := s.Removed(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if n := traces(t, s.Dir(), "xxxxxxxx"); n > 0 {
		t.Errorf("%d traces are left", n)
	}
}

func TestARemovalThatAnotherProgramsWriterStopsIsToldAndGoneOnWith(t *testing.T) {
	s := withConversations(t, store.Options{BusyTimeout: 50 * time.Millisecond}, "c")
	longTurn(t, s, 200)
	other := foreign(t, s)
	var held *sql.Tx
	s.NotifyCut(func(store.Cut) {
		var err error
		if held, err = other.BeginTx(ctx, nil); err != nil { // takes the lock at begin
			t.Error(err)
		}
	})
	deleteConversation(t, s, "c")
	if err := s.Removed(ctx, "c"); store.CodeOf(err) != store.CodeBusy {
		t.Fatalf("the wait ended with %v", err)
	}
	if err := held.Rollback(); err != nil {
		t.Fatal(err)
	}
	// Nobody writes anything more.
	if err := s.Removed(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if n := traces(t, s.Dir(), "xxxxxxxx"); n > 0 {
		t.Errorf("%d traces are left", n)
	}
}

// foreignReader is a read of another program that is under way.
func foreignReader(t *testing.T, s *store.Store) *sql.Tx {
	t.Helper()
	tx, err := foreign(t, s).BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM event").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return tx
}

func TestAReaderOfAnotherProgramDoesNotHoldUpADeletion(t *testing.T) {
	s := withConversations(t, store.Options{}, "c", "d")
	rowsOf(t, s, "c")
	tx := foreignReader(t, s)
	deleteConversation(t, s, "c")
	if err := s.Removed(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no trace in the log", func() bool { return traces(t, s.Dir(), traceOf("c")) == 0 })
}

// After a failure the log is left alone for a while, which must not let a later
// removal end with the log full of it.
func TestADeletionEmptiesTheLogAlthoughAReaderHeldItAMomentAgo(t *testing.T) {
	s := withConversations(t, store.Options{}, "c", "d")
	rowsOf(t, s, "c")
	rowsOf(t, s, "d")
	tx := foreignReader(t, s)
	deleteConversation(t, s, "d")
	if err := s.Removed(ctx, "d"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	deleteConversation(t, s, "c")
	if err := s.Removed(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	if n := traces(t, s.Dir(), traceOf("c")); n > 0 {
		t.Errorf("%d traces are left", n)
	}
}

// olderMigrations are the embedded ones up to a version.
func olderMigrations(t *testing.T, version int) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	names, err := fs.Glob(store.Migrations(), "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names[:version] {
		b, err := fs.ReadFile(store.Migrations(), name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = &fstest.MapFile{Data: b}
	}
	return out
}

func TestAttachmentsOfAnOlderFolderBelongToTheConversationsTheyWereSentIn(t *testing.T) {
	dir := t.TempDir()
	c, err := sqlite3.Open(filepath.Join(dir, "ao-host.db"))
	if err != nil {
		t.Fatal(err)
	}
	old := olderMigrations(t, 3)
	names, err := fs.Glob(old, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		b, err := fs.ReadFile(old, name)
		if err != nil {
			t.Fatal(err)
		}
		script := strings.ReplaceAll(string(b), "-- +goose Up", "")
		if err := c.Exec(script); err != nil {
			t.Fatal(name, err)
		}
		if i == 0 {
			err = c.Exec(`CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')));
				INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)`)
		}
		if err = errors.Join(err, c.Exec(fmt.Sprintf(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, 1)`, i+1))); err != nil {
			t.Fatal(err)
		}
	}
	conversation := `INSERT INTO conversation VALUES ('%s','h','/','/','',0,0,x'','0','',0,0,0,'',0,0);`
	turn := `INSERT INTO turn (id, conversation_id, position, state, client_id, origin, content, settings, settings_rev, interaction_id, proposal_id, retry_of, reply,
		generation, native_turn, evidence, stop_reason, error_code, error_message, journal_from) VALUES ('%s','%s',1,'completed','','user',CAST('%s' AS BLOB),x'',0,'','','',x'',0,'','','','','',0);`
	if err := errors.Join(
		c.Exec(fmt.Sprintf(conversation, "c")), c.Exec(fmt.Sprintf(conversation, "d")),
		c.Exec(`INSERT INTO attachment VALUES ('sha256:1','image/png',x'01'),('sha256:2','image/png',x'02'),('sha256:3','image/png',x'03')`),
		c.Exec(fmt.Sprintf(turn, "t1", "c", `[{"type":"text","text":"x"},{"type":"image","digest":"sha256:1"},{"type":"image","digest":"sha256:2"}]`)),
		c.Exec(fmt.Sprintf(turn, "t2", "d", `[{"type":"image","digest":"sha256:2"}]`)),
		c.Exec(fmt.Sprintf(turn, "t3", "d", `[`)),
		c.Close(),
	); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, store.Options{})
	has := func(want ...string) {
		t.Helper()
		var got []string
		for _, digest := range []string{"sha256:1", "sha256:2", "sha256:3"} {
			if _, err := s.Blob(ctx, digest); err == nil {
				got = append(got, digest)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("attachments %v, want %v", got, want)
		}
	}
	has("sha256:1", "sha256:2") // the third was in no message
	deleteConversation(t, s, "c")
	if err := s.Removed(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	has("sha256:2")
}
