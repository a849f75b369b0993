package store

import (
	"io/fs"
	"log/slog"
	"time"
)

// Options configures [Open]. The zero value is usable.
type Options struct {
	// Now gives the times the store itself records; nil means time.Now. Delays
	// and time-outs always run on the machine's monotonic clock.
	Now func() time.Time
	// Logger receives what no caller can be told: a WAL that somebody pins, a
	// panic nobody waited for. Nil discards it.
	Logger *slog.Logger
	// BusyTimeout is how long a write waits for a foreign program that holds the
	// file's lock, such as a SQLite shell; default 5 s.
	BusyTimeout time.Duration
	// MaxBatch is how many rows a transaction takes before it is committed
	// without waiting for more; default 200. Rows that are there already may still
	// go along.
	MaxBatch int
	// MaxDelay is how long a submitted closure may wait for company; default
	// 20 ms.
	MaxDelay time.Duration
	// WALLimit is the size in bytes above which the write-ahead log is truncated
	// as soon as the store is idle; default 16 MiB. While a foreign program
	// holds an old snapshot open the log cannot shrink.
	WALLimit int64
	// IdleDelay is how long the writer must have had nothing to do to count as
	// idle; default 100 ms.
	IdleDelay time.Duration
	// Readers is how many reads run at the same time; default 4.
	Readers int

	// The following are for tests of this package.
	migrations fs.FS
	vfs        string
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	def(&o.BusyTimeout, 5*time.Second)
	def(&o.MaxBatch, 200)
	def(&o.MaxDelay, 20*time.Millisecond)
	def(&o.WALLimit, 16<<20)
	def(&o.IdleDelay, 100*time.Millisecond)
	def(&o.Readers, 4)
	if o.vfs == "" {
		o.vfs = vfsName
	}
	if o.migrations == nil {
		o.migrations = embeddedMigrations()
	}
	return o
}

func def[T int | int64 | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}
