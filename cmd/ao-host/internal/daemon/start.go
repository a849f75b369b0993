package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/host"
)

const (
	logName = "daemon.log"
	oldLog  = "daemon.log.1"
	// maxLog is when the log of a daemon in the background is put aside, in bytes.
	maxLog = 4 << 20

	// startPatience is how long a start may take; a migration takes longest.
	startPatience = 2 * time.Minute
)

// BackgroundFlag is the flag of the command "serve" that makes it a daemon in the
// background: it reports once on its standard output, see [Report], and writes
// nothing there afterwards.
const BackgroundFlag = "background-child"

// Program is the command that starts this program again.
type Program struct {
	Argv []string
	// Env is its environment; nil means that of this process.
	Env []string
}

// Start connects to the daemon of a data folder, and starts one where none runs:
// this program again, in a session of its own. It returns when the daemon answers.
// The client starts it once more when it has gone and something is to be changed.
// Besides the errors of [Running] they are those of [Serve], and daemon_not_started.
func Start(ctx context.Context, dir string, program Program) (*client.Client, Info, error) {
	f, info, err := ensure(ctx, dir, program)
	if err != nil {
		return nil, info, err
	}
	c, err := f.lasting(&program)
	return c, info, err
}

// ensure sees to it that a daemon answers.
func ensure(ctx context.Context, dir string, program Program) (folder, Info, error) {
	f, err := makeFolder(dir)
	if err != nil {
		return f, Info{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		info, err := f.awaitDaemon(ctx, 0)
		if !errors.Is(err, ErrNotRunning) {
			return f, info, err
		}
		// What was started may have ended again, when it is asked.
		if err := f.spawn(ctx, program); err != nil {
			return f, Info{}, err
		}
	}
}

// report is what a daemon in the background says once.
type report struct {
	// Problem is why it does not run; nil: a daemon answers.
	Problem *host.Problem `json:"problem,omitempty"`
}

// Report tells the process that started a daemon what became of it: nil when a
// daemon answers. It can be called once, because w leads nowhere afterwards.
func Report(w io.Writer, err error) error {
	var r report
	var running *RunningError
	if err != nil && !errors.As(err, &running) {
		p := host.ProblemOf(err)
		r.Problem = &p
	}
	// Whoever asked may be gone.
	_ = json.NewEncoder(w).Encode(r)
	if f, ok := w.(*os.File); ok {
		return quiet(f)
	}
	return nil
}

// spawn starts the program and waits for its report.
func (f folder) spawn(ctx context.Context, program Program) error {
	log, err := f.openLog()
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	out, in, err := os.Pipe()
	if err != nil {
		return f.notStarted(err)
	}
	defer func() { _ = out.Close() }()
	argv := append(append([]string(nil), program.Argv...), "serve", "--data", f.dir, "--"+BackgroundFlag)
	cmd := exec.Command(argv[0], argv[1:]...)
	// Not the folder of whoever was first: it could not be unmounted any more.
	cmd.Dir, cmd.Env = "/", program.Env
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = in, log, detached()
	err = cmd.Start()
	_ = in.Close()
	if err != nil {
		return f.notStarted(err)
	}
	// It outlives this process, or ends before it and is collected here.
	go func() { _ = cmd.Wait() }()
	stop := context.AfterFunc(ctx, func() { _ = out.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var r report
	line, err := io.ReadAll(io.LimitReader(out, 1<<20))
	switch {
	case ctx.Err() != nil:
		return f.notStarted(ctx.Err())
	case err != nil:
		return f.notStarted(err)
	case json.Unmarshal(bytes.TrimSpace(line), &r) != nil:
		return f.notStarted(errors.New("it ended without a word"))
	case r.Problem != nil:
		return r.Problem.Err()
	}
	return nil
}

func (f folder) notStarted(err error) error {
	return &host.Error{Code: host.CodeDaemonNotStarted, Detail: fmt.Sprintf("%v. Its log is %s.", err, f.path(logName)), Err: err}
}

// openLog opens the log for appending. A large one is put aside, in place of an
// earlier one.
func (f folder) openLog() (*os.File, error) {
	if fi, err := os.Stat(f.path(logName)); err == nil && fi.Size() > maxLog {
		if err := os.Rename(f.path(logName), f.path(oldLog)); err != nil {
			return nil, folderError(f.dir, err)
		}
	}
	return f.openPrivate(logName, os.O_WRONLY|os.O_APPEND)
}
