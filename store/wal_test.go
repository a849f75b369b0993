package store_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/aoagents/ao-host/store"
)

func logSize(t *testing.T, s *store.Store) int64 {
	t.Helper()
	fi, err := os.Stat(filepath.Join(s.Dir(), "ao-host.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	return fi.Size()
}

// eventually waits for what the writer does when it is idle.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !is() {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

var kilobyte = []byte(strings.Repeat("k", 1024))

func burst(t *testing.T, s *store.Store, events int) {
	t.Helper()
	for range events / 100 {
		s.Submit(func(tx *store.Tx) error {
			for range 100 {
				if err := tx.AppendEvent(ctx, &store.Event{ConversationID: "c", Body: kilobyte}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	write(t, s, func(*store.Tx) error { return nil })
}

// foreign opens the data file as another program would.
func foreign(t *testing.T, s *store.Store) *sql.DB {
	t.Helper()
	pool, err := driver.Open(filepath.Join(s.Dir(), "ao-host.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

const testLimit = 256 << 10

func TestD4_AfterABurstTheLogGoesBackUnderItsBound(t *testing.T) {
	s := withConversations(t, store.Options{WALLimit: testLimit, IdleDelay: 10 * time.Millisecond, MaxBatch: 1 << 20}, "c")
	burst(t, s, 3000) // one transaction of 3 MB
	eventually(t, "the log shrinks", func() bool { return logSize(t, s) <= testLimit })
	if got := seqs(t, s, "c"); len(got) != 3000 {
		t.Fatalf("%d events", len(got))
	}
}

func TestD4_ALongReaderNeitherStopsWritesNorPinsTheLogForEver(t *testing.T) {
	// A write that waited for the reader would wait for an hour.
	s := withConversations(t, store.Options{WALLimit: testLimit, IdleDelay: 10 * time.Millisecond, BusyTimeout: time.Hour}, "c")
	burst(t, s, 100)
	reader, err := foreign(t, s).BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRow(`SELECT COUNT(*) FROM event`).Scan(&n); err != nil || n != 100 {
		t.Fatalf("%d %v", n, err)
	}
	start := time.Now()
	burst(t, s, 2000)
	if took := time.Since(start); took > time.Minute {
		t.Fatalf("writes waited %v for the reader", took)
	}
	if logSize(t, s) <= testLimit {
		t.Fatal("the reader pinned nothing, so this proves nothing")
	}
	start = time.Now()
	for range 20 {
		write(t, s, func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
	}
	if took := time.Since(start); took > time.Minute {
		t.Fatalf("20 small writes took %v beside a reader", took)
	}
	if err := reader.QueryRow(`SELECT COUNT(*) FROM event`).Scan(&n); err != nil || n != 100 {
		t.Fatalf("the reader's snapshot moved: %d %v", n, err)
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the log shrinks once the reader has gone", func() bool { return logSize(t, s) <= testLimit })
}

func TestD4_ReadsThatOverlapWithoutABreakDoNotLetTheLogGrow(t *testing.T) {
	s := withConversations(t, store.Options{WALLimit: testLimit, Readers: 4}, "c")
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := s.Events(ctx, "c", 0, 200); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	var largest int64
	for range 30 {
		burst(t, s, 200)
		largest = max(largest, logSize(t, s))
	}
	close(stop)
	readers.Wait()
	// 6 MB were written. Twice the limit starts the truncation, which may have to
	// be repeated.
	if largest > 6*testLimit {
		t.Fatalf("the log grew to %d bytes", largest)
	}
}

func TestD4_AReadThenWriteWaitsForAForeignWriterInsteadOfFailingAtOnce(t *testing.T) {
	s := withConversations(t, store.Options{BusyTimeout: time.Minute}, "c")
	other := foreign(t, s)
	hold := func() *sql.Tx {
		tx, err := other.BeginTx(ctx, nil) // takes the lock at begin
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(`UPDATE conversation SET title = 'foreign'`); err != nil {
			t.Fatal(err)
		}
		return tx
	}
	tx := hold()
	released, committed := make(chan struct{}), make(chan struct{})
	time.AfterFunc(200*time.Millisecond, func() {
		defer close(committed)
		close(released)
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	})
	write(t, s, func(tx *store.Tx) error {
		c, err := tx.Conversation(ctx, "c")
		if err != nil {
			return err
		}
		select {
		case <-released:
		default:
			t.Error("the write did not wait")
		}
		c.Cwd = "/moved"
		return tx.UpdateConversation(ctx, c)
	})
	<-committed
	c, err := s.Conversation(ctx, "c")
	if err != nil || c.Title != "foreign" || c.Cwd != "/moved" {
		t.Fatalf("%+v %v", c, err)
	}
}

func TestAForeignWriterThatStaysIsNamedAndTheNextWriteWorks(t *testing.T) {
	s := withConversations(t, store.Options{BusyTimeout: 50 * time.Millisecond}, "c")
	tx, err := foreign(t, s).BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	one := func(tx *store.Tx) error { return appendEvents(tx, "c", 1) }
	wantCode(t, s.Write(ctx, one), store.CodeBusy)
	if store.CodeOf(s.Failing()) != store.CodeBusy {
		t.Fatalf("not shown: %v", s.Failing())
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	write(t, s, one)
	if s.Failing() != nil {
		t.Fatalf("still shown: %v", s.Failing())
	}
}
