//go:build linux || darwin

package process

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// lastStderr is how long, after the exit, stderr is still read although a
	// grandchild keeps it open.
	lastStderr = 200 * time.Millisecond
	// busyRetries and busyDelay bound the wait for a program file that is being
	// written, as an update in place does.
	busyRetries = 50
	busyDelay   = 30 * time.Millisecond
)

// Process is a started child. Its methods may be called from any goroutine.
// [Process.End] must be called in the end, also after the child exited by itself:
// it ends what the child left behind and releases what is held for it.
type Process struct {
	os      *os.Process
	program Program
	family  *family
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	tail    *tail

	stderrDone chan struct{}
	done       chan struct{}
	exit       Exit

	closeStdin sync.Once

	// ending is held by the one End that works; ended says that it succeeded.
	ending chan struct{}
	ended  bool

	// reaping guards reaped: until then the pid, and with it the number of the
	// group, cannot be given to another process.
	reaping sync.Mutex
	reaped  bool
}

// Start starts a child. The error is an [*Error].
func Start(spec Spec) (*Process, error) {
	program, env, err := prepare(spec)
	if err != nil {
		return nil, err
	}
	return launch(program, spec, env)
}

// Find checks what [Start] would start, without starting it, and returns the
// absolute path of the program.
func Find(spec Spec) (program string, err error) {
	program, _, err = prepare(spec)
	return program, err
}

// prepare checks a spec and returns the program and the whole environment. The
// program is named too when only its interpreter is missing.
func prepare(spec Spec) (program string, env []string, err error) {
	if len(spec.Argv) == 0 || spec.Argv[0] == "" {
		return "", nil, errorf(CodeLaunchFailed, nil, "There is no command to start. The manifest's launch argv is empty.")
	}
	for _, s := range append(append([]string{spec.Dir}, spec.Argv...), spec.Env...) {
		if strings.Contains(s, "\x00") {
			return "", nil, errorf(CodeLaunchFailed, nil, "An argument, a variable or the working directory holds a zero byte: %q.", s)
		}
	}
	env = slices.Clone(spec.Env)
	if spec.Dir != "" {
		if err := checkDir(spec.Dir, spec.RealDir); err != nil {
			return "", nil, err
		}
		env = append(env, "PWD="+spec.Dir)
	}
	// Never nil: that would mean the host's own environment.
	env = lastOnly(env)
	if program, err = findCommand(spec.Argv[0], spec.Dir, env); err != nil {
		return "", nil, err
	}
	return program, env, checkInterpreter(program, spec.Dir, env)
}

func launch(program string, spec Spec, env []string) (*Process, error) {
	var files pipes
	defer files.closeChildEnds()
	for i := range files.child {
		if err := files.open(i); err != nil {
			files.closeOurEnds()
			return nil, launchError(program, spec.Dir, spec.RealDir, err)
		}
	}
	// Before it is started: what replaces it meanwhile then counts as replaced.
	identity := Identify(program)
	attr := &os.ProcAttr{Dir: spec.Dir, Env: env, Files: files.child[:], Sys: &syscall.SysProcAttr{Setsid: true}}
	started, kin, err := begin(program, spec.Argv, attr)
	for i := 0; i < busyRetries && errors.Is(err, syscall.ETXTBSY); i++ {
		time.Sleep(busyDelay)
		started, kin, err = begin(program, spec.Argv, attr)
	}
	if err != nil {
		files.closeOurEnds()
		var u *unreadable
		if errors.As(err, &u) {
			return nil, errorf(CodeLaunchFailed, u.err, "The start time of process %d cannot be read, so its exit could never be proven. Make the process table readable (mount /proc).", u.pid)
		}
		return nil, launchError(program, spec.Dir, spec.RealDir, err)
	}
	if spec.StderrLimit <= 0 {
		spec.StderrLimit = DefaultStderrLimit
	}
	p := &Process{
		os:         started,
		program:    identity,
		family:     kin,
		stdin:      files.ours[0],
		stdout:     files.ours[1],
		stderr:     files.ours[2],
		tail:       newTail(spec.StderrLimit),
		stderrDone: make(chan struct{}),
		done:       make(chan struct{}),
		ending:     make(chan struct{}, 1),
	}
	go p.readStderr()
	go p.watch()
	return p, nil
}

// pipes are the three pipes of a child. They are made here and not by os/exec,
// whose Wait goes on until every grandchild has closed its copy.
type pipes struct {
	child, ours [3]*os.File
}

func (f *pipes) open(i int) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	if i == 0 {
		f.child[i], f.ours[i] = r, w
	} else {
		f.child[i], f.ours[i] = w, r
	}
	return nil
}

func (f *pipes) closeChildEnds() { closeAll(f.child[:]) }
func (f *pipes) closeOurEnds()   { closeAll(f.ours[:]) }

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (p *Process) readStderr() {
	defer close(p.stderrDone)
	_, _ = io.Copy(p.tail, p.stderr)
	_ = p.stderr.Close()
}

// watch sees the exit. The child is collected at once if it left nothing behind;
// otherwise it stays a zombie, which keeps its number from being reused, until
// End has ended the rest.
func (p *Process) watch() {
	p.exit = p.awaitExit()
	p.waitStderr()
	if left, err := p.family.group(); err == nil && len(left) == 0 {
		p.reap()
	}
	close(p.done)
}

// waitStderr waits in parts, so that a moment in which this process itself stood
// still does not count as the whole time.
func (p *Process) waitStderr() {
	for range 4 {
		select {
		case <-p.stderrDone:
			return
		case <-time.After(lastStderr / 4):
		}
	}
}

func (p *Process) reap() {
	p.reaping.Lock()
	defer p.reaping.Unlock()
	if !p.reaped {
		_, _ = p.os.Wait()
		p.reaped = true
	}
}

// signalGroup signals the child's process group, unless its number may belong to
// somebody else by now.
func (p *Process) signalGroup(sig syscall.Signal) {
	p.reaping.Lock()
	defer p.reaping.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.os.Pid, sig)
	}
}

// Stdin is the child's standard input. Closing it makes most harnesses end.
func (p *Process) Stdin() io.WriteCloser { return stdin{p} }

// stdin looks up who descends from the child before it closes the pipe: a child
// that ends with its stdin would take the trace of them along.
type stdin struct{ p *Process }

func (s stdin) Write(b []byte) (int, error) { return s.p.stdin.Write(b) }

func (s stdin) Close() error {
	var err error
	s.p.closeStdin.Do(func() {
		// If the table cannot be read now, End will say so.
		_ = s.p.Observe()
		err = s.p.stdin.Close()
	})
	return err
}

// Stdout is the child's standard output. It is the caller's to close; closing it
// makes a blocked Read return. Its end is not the child's exit.
func (p *Process) Stdout() io.ReadCloser { return p.stdout }

// Program is the file that was started.
func (p *Process) Program() Program { return p.program }

// PID is the process id, which is also that of its process group and session.
func (p *Process) PID() int { return p.os.Pid }

// StartTime identifies the process together with its pid: it differs when the
// pid was reused. It is opaque; on Linux it combines field 22 of /proc/PID/stat
// with the boot, on macOS it is the start time in microseconds since 1970.
func (p *Process) StartTime() int64 { return p.family.start }

// Observe looks at what descends from the child now, so that [Process.End] finds
// it even if the child dies by itself before. It costs a look at the process
// table, some milliseconds; the end of a turn is a good moment.
func (p *Process) Observe() error {
	_, err := p.family.members()
	return tableError(err)
}

// Done is closed when the process was seen to exit and its last stderr was read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit tells how it ended. Valid after Done is closed.
func (p *Process) Exit() Exit {
	select {
	case <-p.done:
		return p.exit
	default:
		return Exit{Code: -1}
	}
}

// Stderr returns the end of what the child wrote to its standard error.
func (p *Process) Stderr() string { return p.tail.String() }

// End closes stdin, sends SIGTERM to the child, its process group and what
// descends from it, SIGKILL after grace, and returns nil when the exit was seen
// and nothing is left. It is nil at once when called again.
//
// Descendants that made a session of their own are found only through their
// parents, or because they were seen before: by [Process.Observe], or when stdin
// was closed. A process that detached itself before it was seen, as a daemon does,
// is not touched.
//
// When ctx ends, SIGKILL is sent at once. The error is an [*Error] with the code
// exit_unproven: something survived SIGKILL, or belongs to another user. End may
// then be called again.
func (p *Process) End(ctx context.Context, grace time.Duration) error {
	p.ending <- struct{}{}
	defer func() { <-p.ending }()
	if p.ended {
		return nil
	}
	_ = p.Stdin().Close()
	if err := p.family.end(ctx, grace, p.signalGroup); err != nil {
		return err
	}
	// Nothing of the family runs, so the exit is about to be seen.
	<-p.done
	p.reap()
	p.waitStderr()
	_ = p.stderr.Close()
	<-p.stderrDone
	forget(p.family)
	p.ended = true
	return nil
}
