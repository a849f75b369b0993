package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/aoagents/ao-host/host"
)

// Config configures [Serve].
type Config struct {
	// Host configures the host; its Dir is the data folder.
	Host host.Config
	// Listen is a loopback address such as 127.0.0.1:7777 to listen at besides the
	// socket, for clients that show the token. Empty: none.
	Listen string
	// Replace ends the daemon that runs. Its lock goes from one to the other, so that
	// no third one comes in between.
	Replace bool
	// Drain bounds the orderly end; default 15 s.
	Drain time.Duration
	// Ready is called once the daemon answers.
	Ready func(Info)
}

// RunningError says that the folder has a daemon already.
type RunningError struct{ Info Info }

func (e *RunningError) Error() string {
	return "a daemon runs already: " + processName(e.Info.PID)
}

func processName(pid int) string { return fmt.Sprintf("Process %d", pid) }

// lockPatience is how long a new daemon waits for one that ends, in pauses between
// looks; tests wait less.
var lockPatience = 20 * time.Second

const (
	pollInterval = 20 * time.Millisecond

	defaultDrain = 15 * time.Second
)

// Serve is the daemon: it returns when ctx ends, after an orderly end. The error is
// a [*RunningError] when the folder has a daemon that answers.
func Serve(ctx context.Context, cfg Config) (err error) {
	if cfg.Drain <= 0 {
		cfg.Drain = defaultDrain
	}
	if cfg.Host.Logger == nil {
		cfg.Host.Logger = slog.New(slog.DiscardHandler)
	}
	f, err := makeFolder(cfg.Host.Dir)
	if err != nil {
		return err
	}
	// An agent must be known whatever it does to hide where it comes from.
	cfg.Host.Dir, cfg.Host.Dedicated = f.dir, true
	take := f.waitLock
	if cfg.Replace {
		take = f.takeOver
	}
	l, err := take(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.release()) }()
	h, err := WhileLocked(ctx, func() (*host.Host, error) { return host.Open(ctx, cfg.Host) })
	if err != nil {
		return err
	}
	s := &service{cfg: cfg, host: h, folder: f, lock: l}
	if err := s.listen(); err != nil {
		return errors.Join(err, s.end())
	}
	info, err := l.write(host.Version(), f.socketPath(), s.address(), time.Now())
	if err != nil {
		return errors.Join(folderError(f.dir, err), s.end())
	}
	failed := s.start()
	trimming, stopTrim := context.WithCancel(ctx)
	defer stopTrim()
	go trim(trimming)
	cfg.Host.Logger.Info("the daemon listens", "socket", info.Socket, "address", info.Address, "pid", info.PID)
	if cfg.Ready != nil {
		cfg.Ready(info)
	}
	select {
	case <-ctx.Done():
		if err := l.end(info); err != nil {
			cfg.Host.Logger.Warn("the lock file could not be written", "error", err)
		}
	case err = <-failed:
	case err = <-s.displaced(trimming):
	}
	cfg.Host.Logger.Info("the daemon ends")
	return errors.Join(err, s.end())
}

// waitLock takes the lock. A daemon that is about to end is waited for; one that
// answers is the daemon.
func (f folder) waitLock(ctx context.Context) (*lock, error) {
	for waited := time.Duration(0); ; waited += pollInterval {
		l, err := f.tryLock()
		if l != nil || err != nil {
			return l, err
		}
		if c, info, err := f.ask(ctx); err == nil {
			return nil, errors.Join(&RunningError{info}, c.Close(ctx))
		}
		if waited >= lockPatience {
			return nil, f.busyError()
		}
		if err := pause(ctx, pollInterval); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// service is a running daemon.
type service struct {
	cfg    Config
	host   *host.Host
	folder folder
	lock   *lock
	// local and tcp are nil where it does not listen.
	local, tcp net.Listener
	token      string
	servers    []*http.Server
	// mu orders making the socket again and the end, which takes it away.
	mu     sync.Mutex
	ending bool
}

func (s *service) listen() (err error) {
	if s.local, err = listen(s.folder.socketPath()); err != nil {
		return err
	}
	if s.cfg.Listen == "" {
		return nil
	}
	if s.token, err = s.folder.token(); err != nil {
		return err
	}
	s.tcp, err = listenTCP(s.cfg.Listen)
	return err
}

func (s *service) address() string {
	if s.tcp == nil {
		return ""
	}
	return s.tcp.Addr().String()
}

// start serves in the background; the channel tells when that fails.
func (s *service) start() <-chan error {
	failed := make(chan error, 2)
	serve := func(ln net.Listener, h http.Handler) {
		srv := &http.Server{
			Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
			ConnContext: host.ConnContext, ErrorLog: slog.NewLogLogger(s.cfg.Host.Logger.Handler(), slog.LevelDebug),
		}
		s.servers = append(s.servers, srv)
		go func() {
			if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
	}
	api := s.host.Handler()
	serve(s.local, api)
	if s.tcp != nil {
		serve(s.tcp, host.RequireToken(api, s.token))
	}
	return failed
}

// placeInterval is how often a daemon looks whether its folder is still there.
var placeInterval = 5 * time.Second

// displaced tells when the folder was moved, removed or replaced: no command finds
// this daemon any more, and nothing that it accepts would be kept.
func (s *service) displaced(ctx context.Context) <-chan error {
	gone, interval := make(chan error, 1), placeInterval
	go func() {
		for pause(ctx, interval) == nil {
			if s.lock.lost(s.folder) {
				gone <- folderError(s.folder.dir, errors.New("it was moved, removed or replaced"))
				return
			}
			s.listenAgain()
		}
	}()
	return gone
}

// listenAgain makes the socket anew when somebody has removed it, as cleaners of
// temporary files do: without its name no command finds this daemon, and none can
// take its place.
func (s *service) listenAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Lstat(s.folder.socketPath()); s.ending || !errors.Is(err, fs.ErrNotExist) {
		return
	}
	log := s.cfg.Host.Logger
	ln, err := listen(s.folder.socketPath())
	if err != nil {
		log.Warn("the socket was removed and could not be made again", "error", err)
		return
	}
	log.Warn("the socket was removed, and is made again", "socket", s.folder.socketPath())
	// The server of the socket's first name: to shut it down ends this one too.
	srv := s.servers[0]
	go func() {
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("the new socket failed", "error", err)
		}
	}()
}

// end takes the socket away, so that no new client comes, closes the host, which
// ends event streams with the number to go on after, and waits for the answers
// under way.
func (s *service) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Drain)
	defer cancel()
	var errs []error
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	if s.local != nil && !s.lock.lost(s.folder) {
		// Where the lock is lost the socket may be a successor's (D3). A cleaner of
		// temporary files may have been there first.
		if err := os.Remove(s.folder.socketPath()); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for _, srv := range s.servers {
			// Only the end of ctx is an error, and then they are closed.
			if srv.Shutdown(ctx) != nil {
				_ = srv.Close()
			}
		}
		for _, ln := range []net.Listener{s.local, s.tcp} {
			if ln != nil {
				_ = ln.Close()
			}
		}
	}()
	errs = append(errs, s.host.Close(ctx))
	<-drained
	return errors.Join(errs...)
}
