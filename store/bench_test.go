package store_test

import (
	"bytes"
	"testing"

	"github.com/aoagents/ao-host/store"
)

// BenchmarkStoreAppend appends events with bodies of 100 bytes: one a call that
// waits for its commit, or streamed.
func BenchmarkStoreAppend(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 100)
	appendOne := func(tx *store.Tx) error {
		return tx.AppendEvent(ctx, &store.Event{
			ConversationID: "0198f3f0-aaaa-7bbb-8ccc-0123456789ab", Type: "item.delta",
			TurnID: "0198f3f0-bbbb-7bbb-8ccc-0123456789ab", At: epoch, Body: body,
		})
	}
	run := func(name string, work func(b *testing.B, s *store.Store)) {
		b.Run(name, func(b *testing.B) {
			s := withConversations(b, store.Options{}, "0198f3f0-aaaa-7bbb-8ccc-0123456789ab")
			b.ReportAllocs()
			b.ResetTimer()
			work(b, s)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
	run("single", func(b *testing.B, s *store.Store) {
		for range b.N {
			write(b, s, appendOne)
		}
	})
	run("streamed", func(b *testing.B, s *store.Store) {
		var pending []*store.Pending
		for range b.N {
			pending = append(pending, s.Submit(appendOne))
			if len(pending) == 4000 { // as a reader that leaves so much uncommitted
				if err := pending[2000].Wait(ctx); err != nil {
					b.Fatal(err)
				}
				pending = append(pending[:0], pending[2000:]...)
			}
		}
		write(b, s, func(*store.Tx) error { return nil })
	})
	run("closures of 20 rows", func(b *testing.B, s *store.Store) {
		var last *store.Pending
		for n := 0; n < b.N; n += 20 {
			p := s.Submit(func(tx *store.Tx) error {
				for range min(20, b.N-n) {
					if err := appendOne(tx); err != nil {
						return err
					}
				}
				return nil
			})
			if n%1000 == 0 && last != nil {
				if err := last.Wait(ctx); err != nil {
					b.Fatal(err)
				}
			}
			last = p
		}
		write(b, s, func(*store.Tx) error { return nil })
	})
}

// BenchmarkStoreEvents reads pages of 500 events.
func BenchmarkStoreEvents(b *testing.B) {
	s := withConversations(b, store.Options{}, "c")
	write(b, s, func(tx *store.Tx) error {
		for range 5000 {
			if err := tx.AppendEvent(ctx, &store.Event{ConversationID: "c", Type: "item.delta", Body: make([]byte, 100)}); err != nil {
				return err
			}
		}
		return nil
	})
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		page, err := s.Events(ctx, "c", uint64(rows%4500), 500)
		if err != nil || len(page) != 500 {
			b.Fatal(len(page), err)
		}
		rows += len(page)
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkStoreOpen opens and closes a folder with a migrated file.
func BenchmarkStoreOpen(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		s, err := store.Open(ctx, dir, store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
