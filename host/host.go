package host

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/aoagents/ao-host/host/internal/engine"
	"github.com/aoagents/ao-host/host/internal/process"
	"github.com/aoagents/ao-host/store"
)

// Host owns a data folder and the live sessions of its conversations.
type Host struct {
	cfg      Config
	store    *store.Store
	engine   *engine.Engine
	bindings *registry
	env      *launchEnv
	feed     *feed
	levels   *levels
	tel      *telemetry
	// letGo ends the adoption of descendants, see Config.Dedicated.
	letGo func()

	mu      sync.Mutex
	actors  map[string]*conversation
	loading map[string]*loading
	// adrift are the starts that were given up and have not come back.
	adrift map[string][]*launching
	closed bool
	// over is closed when the store is about to be.
	over chan struct{}
	// erasures are the deletions that are not decided yet.
	erasures sync.WaitGroup
}

// Open opens the data folder, takes its lock, migrates it, and recovers what a
// crash left behind: conversations with queued or unsettled work continue unless
// Config.LeaveIdle is set.
//
// Errors: store_locked, store_read_only, store_full, store_newer,
// store_corrupt, and module errors of built-in bindings.
func Open(ctx context.Context, cfg Config) (*Host, error) {
	cfg, err := cfg.withDefaults().located()
	if err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, cfg.Dir, store.Options{Now: cfg.Clock, Logger: cfg.Logger})
	if err != nil {
		return nil, storeError(err)
	}
	h := &Host{cfg: cfg, store: st, actors: map[string]*conversation{}, loading: map[string]*loading{}, adrift: map[string][]*launching{}, feed: newFeed(), env: newLaunchEnv(cfg), levels: newLevels(cfg.LogLevels), tel: newTelemetry(cfg), letGo: func() {}, over: make(chan struct{})}
	h.engine, err = engine.New(ctx, engine.Config{CacheDir: filepath.Join(cfg.CacheDir, "native"), DigestDir: cfg.DigestDir})
	if err != nil {
		return nil, errors.Join(fail(CodeStoreFailed, "The cache of compiled bindings could not be opened: %v.", err), st.Close())
	}
	h.bindings = newRegistry(h, st.Grants)
	if err := h.bindings.loadBuiltIn(); err != nil {
		return nil, errors.Join(err, h.engine.Close(ctx), st.Close())
	}
	if cfg.Dedicated {
		if letGo, err := process.Adopt(); err != nil {
			cfg.Logger.Warn("agents that detach themselves will not be told from the user", "error", err)
		} else {
			h.letGo = letGo
		}
	}
	st.Notify(h.feed.advance)
	st.NotifyCut(h.feed.cut)
	if err := h.recover(ctx); err != nil {
		return nil, errors.Join(err, h.Close(ctx))
	}
	return h, nil
}

// Close cancels what runs as Stop does, ends every harness process, holds queues
// that are not empty, and closes the data folder. It returns when no child is
// left, at the latest some seconds after ctx ends.
//
// Errors: exit_unproven for each process or start that did not end even so, for
// instance on a file system that does not answer. The next Open settles what they left,
// but for a process that the system makes for such a start after this program has ended:
// nobody knows its id.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	actors := make([]*conversation, 0, len(h.actors))
	for _, c := range h.actors {
		actors = append(actors, c)
	}
	h.mu.Unlock()
	var wg sync.WaitGroup
	var stuck atomic.Bool
	left := make([]error, len(actors))
	for i, c := range actors {
		wg.Go(func() {
			var ended bool
			if ended, left[i] = c.shutdown(ctx); !ended {
				stuck.Store(true)
			}
		})
	}
	wg.Wait()
	if !stuck.Load() {
		h.erasures.Wait()
	}
	h.feed.close()
	h.letGo()
	close(h.over)
	return errors.Join(errors.Join(left...), h.engine.Close(context.WithoutCancel(ctx)), h.store.Close())
}

// loading is a conversation that is being read from the store.
type loading struct {
	done chan struct{}
	err  error
}

// actor returns the goroutine that owns a conversation, starting it if needed. The
// store is read without the lock, once for all who come meanwhile.
func (h *Host) actor(ctx context.Context, id string) (*conversation, error) {
	for {
		h.mu.Lock()
		if h.closed {
			h.mu.Unlock()
			return nil, &Error{Code: CodeClosed}
		}
		if c, ok := h.actors[id]; ok {
			h.mu.Unlock()
			return c, nil
		}
		l, ok := h.loading[id]
		if !ok {
			l = &loading{done: make(chan struct{})}
			h.loading[id] = l
			h.mu.Unlock()
			return h.load(ctx, id, l)
		}
		h.mu.Unlock()
		select {
		case <-l.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// Who gave up has found out nothing.
		if l.err != nil && !isGone(l.err) {
			return nil, l.err
		}
	}
}

// load reads a conversation and starts its goroutine.
func (h *Host) load(ctx context.Context, id string, l *loading) (*conversation, error) {
	c, err := loadConversation(ctx, h, id)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.loading, id)
	defer close(l.done)
	if err == nil && h.closed {
		c.cancel()
		err = &Error{Code: CodeClosed}
	}
	if l.err = err; err != nil {
		return nil, err
	}
	h.actors[id] = c
	go c.run()
	return c, nil
}

func (h *Host) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// peek returns the running goroutine of a conversation, or nil.
func (h *Host) peek(id string) *conversation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.actors[id]
}

// storeError maps an error of the store to ours.
func storeError(err error) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var e *store.Error
	if !errors.As(err, &e) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return &Error{Code: CodeStoreFailed, Detail: err.Error() + ".", Err: err}
	}
	if e.Code == store.CodeClosed {
		// Nobody but the host closes it.
		return &Error{Code: CodeClosed, Err: err}
	}
	code := Code(e.Code)
	if _, known := codeTexts[code]; !known {
		code = CodeStoreFailed
	}
	return &Error{Code: code, Detail: e.Message, Err: err, complete: true}
}

// isNotFound reports whether the store has no such row.
func isNotFound(err error) bool {
	var e *store.Error
	return errors.As(err, &e) && e.Code == store.CodeNotFound
}
