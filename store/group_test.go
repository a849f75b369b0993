package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aoagents/ao-host/store"
)

// gate occupies the writer until it is opened.
func gate(s *store.Store) (opened func(), running <-chan struct{}) {
	hold, in := make(chan struct{}), make(chan struct{})
	s.Submit(func(*store.Tx) error {
		close(in)
		<-hold
		return nil
	})
	return sync.OnceFunc(func() { close(hold) }), in
}

func TestClosuresRunInCallOrderWhoeverWaits(t *testing.T) {
	s := withConversations(t, store.Options{MaxBatch: 8}, "c")
	openGate, in := gate(s)
	<-in
	var order []int
	var wg sync.WaitGroup
	for i := range 100 {
		note := func(*store.Tx) error { order = append(order, i); return nil }
		if i%3 != 0 {
			s.Submit(note)
			continue
		}
		started := make(chan struct{})
		wg.Go(func() {
			close(started)
			if err := s.Write(ctx, note); err != nil {
				t.Error(err)
			}
		})
		<-started
		// The goroutine is about to queue; wait until it has.
		deadline := time.Now().Add(time.Minute)
		for s.Queued() != i+1 {
			if time.Now().After(deadline) {
				t.Fatal("the write was not queued")
			}
			time.Sleep(50 * time.Microsecond)
		}
	}
	openGate()
	wg.Wait()
	write(t, s, func(*store.Tx) error { return nil })
	if len(order) != 100 || !slices.IsSorted(order) {
		t.Fatalf("order %v", order)
	}
}

func TestAFailedClosureTakesNothingOfItsNeighboursWithIt(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	openGate, in := gate(s)
	<-in
	before := s.Submit(func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
	failed := s.Submit(func(tx *store.Tx) error {
		if err := appendEvents(tx, "c", 5); err != nil {
			return err
		}
		if err := tx.InsertConversation(ctx, newConversation("d")); err != nil {
			return err
		}
		return errClosure
	})
	conflict := s.Submit(func(tx *store.Tx) error { return tx.InsertConversation(ctx, newConversation("c")) })
	after := s.Submit(func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
	openGate()
	for _, p := range []*store.Pending{before, after} {
		if err := p.Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := failed.Wait(ctx); !errors.Is(err, errClosure) {
		t.Fatalf("got %v", err)
	}
	wantCode(t, conflict.Wait(ctx), store.CodeConflict)
	if got := seqs(t, s, "c"); !slices.Equal(got, []uint64{1, 2}) {
		t.Fatalf("numbers %v", got)
	}
	_, err := s.Conversation(ctx, "d")
	wantCode(t, err, store.CodeNotFound)
}

func TestSubmittedRowsShareACommitAndAWriteDoesNotWaitForCompany(t *testing.T) {
	s := withConversations(t, store.Options{MaxDelay: time.Hour, MaxBatch: 50}, "c")
	var mu sync.Mutex
	var commits []uint64
	s.Notify(func(_ string, last uint64) {
		mu.Lock()
		defer mu.Unlock()
		commits = append(commits, last)
	})
	one := func(tx *store.Tx) error { return appendEvents(tx, "c", 1) }
	streamed := s.Submit(one)
	select {
	case <-streamed.Done():
		t.Fatal("a streamed row did not wait for company")
	case <-time.After(50 * time.Millisecond):
	}
	write(t, s, one) // would last an hour if it waited, and takes the other along
	if err := streamed.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	var last *store.Pending
	for range 50 {
		last = s.Submit(one)
	}
	if err := last.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.SubmitNow(one).Wait(ctx); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(commits, []uint64{2, 52, 53}) {
		t.Fatalf("commits ended at %v", commits)
	}
}

func TestAStreamedRowIsCommittedWithinItsDelay(t *testing.T) {
	s := withConversations(t, store.Options{MaxDelay: 20 * time.Millisecond}, "c")
	start := time.Now()
	p := s.Submit(func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := p.Wait(wait); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 15*time.Millisecond {
		t.Fatalf("it did not wait for company: %v", took)
	}
}

func TestRule19_NotifySpeaksOfCommittedEventsOnly(t *testing.T) {
	s := withConversations(t, store.Options{}, "a", "b")
	told := map[string]uint64{}
	var problems []string
	s.Notify(func(conv string, last uint64) {
		if last <= told[conv] {
			problems = append(problems, fmt.Sprintf("%s told %d after %d", conv, last, told[conv]))
		}
		told[conv] = last
	})
	second := 0
	s.Notify(func(string, uint64) { second++ })
	openGate, in := gate(s)
	<-in
	s.Submit(func(tx *store.Tx) error { return appendEvents(tx, "a", 2) })
	s.Submit(func(tx *store.Tx) error { _ = appendEvents(tx, "b", 2); return errClosure })
	s.Submit(func(tx *store.Tx) error { return appendEvents(tx, "a", 1) })
	openGate()
	write(t, s, func(*store.Tx) error { return nil })
	if told["a"] != 3 || told["b"] != 0 || len(problems) > 0 || second != 1 {
		t.Fatalf("told %v, %v, %d", told, problems, second)
	}
}

func TestD4_ACancelledWriteIsSkippedOrCommittedAndThePoolStaysWell(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	openGate, in := gate(s)
	<-in
	cancelled, cancel := context.WithCancel(ctx)
	result := make(chan error)
	go func() {
		result <- s.Write(cancelled, func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
	}()
	for s.Queued() == 0 {
		time.Sleep(50 * time.Microsecond)
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	openGate()
	write(t, s, func(*store.Tx) error { return nil })
	if got := seqs(t, s, "c"); len(got) != 0 {
		t.Fatalf("a write that was cancelled before its turn came ran: %v", got)
	}

	// Cancelled while it runs: it is committed, its caller just did not wait.
	cancelled, cancel = context.WithCancel(ctx)
	inside := make(chan error, 1)
	err := s.Write(cancelled, func(tx *store.Tx) error {
		cancel()
		_, err := tx.Conversations(cancelled)
		if err == nil {
			err = appendEvents(tx, "c", 1)
		}
		inside <- err
		return err
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := <-inside; err != nil {
		t.Fatalf("a closure that had begun was interrupted: %v", err)
	}
	write(t, s, func(*store.Tx) error { return nil })
	if got := seqs(t, s, "c"); len(got) != 1 {
		t.Fatalf("a closure that had begun was not committed: %v", got)
	}
	if err := s.Write(cancelled, func(*store.Tx) error { t.Error("ran"); return nil }); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			short, cancel := context.WithTimeout(ctx, time.Duration(i)*20*time.Microsecond)
			defer cancel()
			_ = s.Write(short, func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
			if _, err := s.Events(short, "c", 0, 100); err != nil && short.Err() == nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	write(t, s, func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
	got := seqs(t, s, "c")
	if len(got) < 2 || got[len(got)-1] != uint64(len(got)) {
		t.Fatalf("numbers %v", got)
	}
}

func TestAPanicReachesTheCallerAndTheWriterGoesOn(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	said := func(fn func()) (v any) {
		defer func() { v = recover() }()
		fn()
		return nil
	}
	boom := func(tx *store.Tx) error {
		_ = appendEvents(tx, "c", 1)
		panic("boom")
	}
	for name, fn := range map[string]func(){
		"write":  func() { _ = s.Write(ctx, boom) },
		"submit": func() { _ = s.Submit(boom).Wait(ctx) },
	} {
		if v := said(fn); !strings.Contains(fmt.Sprint(v), "boom") {
			t.Fatalf("%s: panicked with %v", name, v)
		}
	}
	if s.Failing() != nil {
		t.Fatalf("a panic is no fault of the store: %v", s.Failing())
	}
	write(t, s, func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
	if got := seqs(t, s, "c"); !slices.Equal(got, []uint64{1}) {
		t.Fatalf("numbers %v", got)
	}
}

func TestAClosureThatLeavesByGoexitStopsTheStoreInsteadOfHangingIt(t *testing.T) {
	s := withConversations(t, store.Options{MaxDelay: time.Hour}, "c")
	ran := make(chan struct{})
	neighbour := s.Submit(func(tx *store.Tx) error {
		defer close(ran)
		return appendEvents(tx, "c", 1)
	})
	<-ran
	gone := s.Submit(func(tx *store.Tx) error {
		_ = appendEvents(tx, "c", 1)
		runtime.Goexit()
		return nil
	})
	next := s.Submit(func(tx *store.Tx) error { return appendEvents(tx, "c", 1) })
	for _, p := range []*store.Pending{neighbour, gone, next} {
		wantCode(t, p.Wait(ctx), store.CodeClosed)
	}
	wantCode(t, s.Write(ctx, func(*store.Tx) error { return nil }), store.CodeClosed)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, s.Dir(), store.Options{})
	if got := seqs(t, s, "c"); len(got) != 0 {
		t.Fatalf("told as failed, but there: %v", got)
	}
}

func TestCloseCommitsWhatWasSubmittedAndThenRefuses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, store.Options{MaxDelay: time.Hour, MaxBatch: 1 << 20})
	p := s.Submit(func(tx *store.Tx) error { return tx.InsertConversation(ctx, newConversation("c")) })
	if err := errors.Join(s.Close(), s.Close(), p.Wait(ctx)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.Write(ctx, func(*store.Tx) error { return nil }), store.CodeClosed)
	wantCode(t, s.Submit(func(*store.Tx) error { return nil }).Wait(ctx), store.CodeClosed)
	_, err := s.Conversation(ctx, "c")
	wantCode(t, err, store.CodeClosed)
	if _, err := open(t, dir, store.Options{}).Conversation(ctx, "c"); err != nil {
		t.Fatal(err)
	}
}

func TestManyWritersAndReadersSeeOnlyWholeClosures(t *testing.T) {
	s := withConversations(t, store.Options{}, "c")
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			var seen uint64
			for {
				select {
				case <-stop:
					return
				default:
				}
				rows, err := s.Events(ctx, "c", seen, 999)
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range rows {
					if seen++; e.Seq != seen {
						t.Errorf("event %d came after %d", e.Seq, seen-1)
						return
					}
				}
				if seen%3 != 0 {
					t.Errorf("part of a closure is visible: %d events", seen)
					return
				}
			}
		})
	}
	for range 4 {
		writers.Go(func() {
			for i := range 100 {
				three := func(tx *store.Tx) error { return appendEvents(tx, "c", 3) }
				if i%10 != 0 {
					s.Submit(three)
				} else if err := s.Write(ctx, three); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	write(t, s, func(*store.Tx) error { return nil })
	close(stop)
	readers.Wait()
	if got := seqs(t, s, "c"); len(got) != 1200 {
		t.Fatalf("%d events", len(got))
	}
}
