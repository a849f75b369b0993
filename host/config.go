package host

import (
	"context"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host/internal/process"
)

// Config configures a [Host]. Only Dir is required.
type Config struct {
	// Dir is the data folder. It is created with mode 0700.
	Dir string
	// Clock gives the time of records; nil means time.Now. Time-outs always run
	// on the machine's monotonic clock.
	Clock func() time.Time
	// IDs makes unique ids; nil means random UUIDs.
	IDs func() string
	// Logger receives operational messages; no harness text above debug level.
	Logger *slog.Logger
	// LogLevels are the log levels of single conversations, by id, whatever the
	// level of the logger is; see [Host.SetLogLevel].
	LogLevels map[string]slog.Level
	// TracerProvider and MeterProvider take the traces and metrics of OpenTelemetry;
	// nil means none. They carry ids, codes and numbers, no text of a harness or a
	// person. The host does not shut them down.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Env is the environment harnesses are started from, filtered by each
	// manifest's allow-list. Nil means the login shell's environment, resolved
	// once, at the first start.
	Env []string
	// Bindings are the built-in modules; nil means those shipped with the host.
	// They take the same manifest, schema and limit path as any module, and are
	// granted by being built in.
	Bindings [][]byte
	// BindingDir holds modules dropped in by the user; default Dir/bindings.
	BindingDir string
	// CacheDir holds compiled modules, which are made again when missing; default
	// Dir/cache. DigestDir holds their digests, apart from the cache, so that who
	// can only write the cache cannot plant code; default Dir/native-digests.
	CacheDir, DigestDir string
	// Launch replaces a manifest's command, by harness id.
	Launch map[string]Launch
	// Client is what harnesses are told about the product.
	Client abi.ClientInfo
	// LeaveIdle: conversations with queued or unsettled work from before are not
	// started at Open, only when they are used.
	LeaveIdle bool
	// Dedicated: the process does nothing but run this host, as a daemon does, and
	// starts no other programs. Every process that descends from it then counts as a
	// harness's, see [ConnContext]. On Linux it also becomes the parent of what its
	// descendants leave behind, so that none escapes by detaching itself.
	Dedicated bool
	// MaxLine is the longest line taken from a harness, in bytes; default 16 MiB.
	MaxLine int
	// MaxMessage bounds the text of a message, in bytes; default 1 MiB.
	MaxMessage int
	// MaxAttachment bounds one image or file, in bytes; default 8 MiB.
	MaxAttachment int
	// StartSlow is when a start is called slow, and how often it is told again what
	// the harness has printed, if that is more by then; default 30 s.
	StartSlow time.Duration
	// StopGrace is how long a stopped turn may take to end, and a message for the running
	// turn to be answered once that has ended; default 4 s.
	StopGrace time.Duration
	// IdleSession is after how long without anything happening the session of a
	// conversation is ended, to be restored by the next message. Zero or less: never.
	// It never ends while a turn, a request or work in the background goes on, nor
	// where the harness could not restore it.
	IdleSession time.Duration
	// EndGrace is how long a process may take to end after SIGTERM; default 3 s.
	EndGrace time.Duration

	// The following are for tests of this package.
	start func(process.Spec) (*process.Process, error)
	end   func(context.Context, *process.Process, time.Duration) error
	fresh time.Duration
	login time.Duration
	// replaced looks whether a program was replaced; closeGrace is how long a close may
	// take beside EndGrace once its context ended.
	replaced   func(process.Program) bool
	closeGrace time.Duration
}

// Launch is how to start a harness instead of what its manifest says.
type Launch struct {
	// Argv is the command with its arguments.
	Argv []string
	// Env is added to the environment as it stands.
	Env []string
}

func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.IDs == nil {
		c.IDs = uuid.NewString
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Client.Name == "" {
		c.Client = abi.ClientInfo{Name: "ao-host", Title: "ao-host", Version: Version()}
	}
	def := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&c.MaxLine, 16<<20)
	def(&c.MaxMessage, 1<<20)
	def(&c.MaxAttachment, 8<<20)
	dur := func(p *time.Duration, v time.Duration) {
		if *p <= 0 {
			*p = v
		}
	}
	dur(&c.StartSlow, 30*time.Second)
	dur(&c.StopGrace, 4*time.Second)
	dur(&c.EndGrace, 3*time.Second)
	dur(&c.fresh, freshControls)
	dur(&c.login, loginEnvTimeout)
	dur(&c.closeGrace, 10*time.Second)
	if c.replaced == nil {
		c.replaced = process.Program.Replaced
	}
	if c.start == nil {
		c.start = process.Start
	}
	if c.end == nil {
		c.end = func(ctx context.Context, p *process.Process, grace time.Duration) error { return p.End(ctx, grace) }
	}
	return c
}

// located makes the paths absolute and fills in those that follow from Dir.
func (c Config) located() (Config, error) {
	if c.Dir == "" {
		return c, failField(CodeInvalidArgument, "Dir", "No data folder was given.")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, failField(CodeInvalidArgument, "Dir", "The data folder %q is not a usable path: %v.", c.Dir, err)
	}
	c.Dir = dir
	below := func(p *string, name string) {
		if *p == "" {
			*p = filepath.Join(dir, name)
		}
	}
	below(&c.BindingDir, "bindings")
	below(&c.CacheDir, "cache")
	below(&c.DigestDir, "native-digests")
	return c, nil
}

// Version is the version of this module as the build recorded it.
func Version() string {
	if bi, ok := debug.ReadBuildInfo(); ok {
		if bi.Main.Path == modulePath && bi.Main.Version != "" {
			return bi.Main.Version
		}
		for _, d := range bi.Deps {
			if d.Path == modulePath {
				return d.Version
			}
		}
	}
	return "(devel)"
}

const modulePath = "github.com/aoagents/ao-host"
