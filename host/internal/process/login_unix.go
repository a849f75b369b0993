//go:build linux || darwin

package process

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// maxLoginOutput bounds what a shell may print, start files included.
	maxLoginOutput = 4 << 20
	// shellExit is how long the shell may take to end once it has printed the
	// environment.
	shellExit = time.Second
)

func ownEnv() []string { return os.Environ() }

// LoginEnv asks a login shell for its environment. shell is its path; empty means
// $SHELL, else /bin/sh. timeout is [DefaultLoginTimeout] when zero.
//
// The environment returned is always usable: when the shell cannot tell, it is
// that of this process, and the error, an [*Error] with the code
// login_environment_unavailable, is the reason. The shell gets no terminal and an
// empty stdin, so one that asks something does not hang; one that does is ended
// at the timeout, with all it started.
func LoginEnv(ctx context.Context, shell string, timeout time.Duration) ([]string, error) {
	shell = LoginShell(shell)
	if timeout <= 0 {
		timeout = DefaultLoginTimeout
	}
	if ctx.Err() != nil {
		return ownEnv(), loginError(ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	env, err := askShell(ctx, shell)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%s did not answer within %v: %w", shell, timeout, err)
		} else {
			err = fmt.Errorf("%s: %w", shell, err)
		}
		return ownEnv(), loginError(err)
	}
	return env, nil
}

func askShell(ctx context.Context, shell string) ([]string, error) {
	m := markers{begin: "--" + rand.Text() + "--", end: "--" + rand.Text() + "--"}
	argv, err := loginCommand(shell, m)
	if err != nil {
		return nil, err
	}
	dir, err := os.UserHomeDir()
	if err == nil {
		err = checkDir(dir, "")
	}
	if err != nil {
		dir = "/"
	}
	p, err := Start(Spec{Argv: argv, Dir: dir, Env: ownEnv()})
	if err != nil {
		return nil, err
	}
	_ = p.stdin.Close()
	out, err := readUntil(ctx, p, []byte(m.end+"\n"))
	// A shell that is done ends by itself.
	wait := time.NewTimer(shellExit)
	defer wait.Stop()
	select {
	case <-p.done:
	case <-wait.C:
	case <-ctx.Done():
	}
	_ = p.stdout.Close()
	// Interactive shells ignore SIGTERM, so there is no use in waiting. If
	// something even survives SIGKILL the environment is still good.
	_ = p.End(context.WithoutCancel(ctx), 0)
	if err == nil {
		var env []string
		if env, err = parseLoginEnv(out, m); err == nil {
			return env, nil
		}
	}
	if said := strings.TrimSpace(p.Stderr()); said != "" {
		err = fmt.Errorf("%w; it said: %.300q", err, said)
	}
	return nil, err
}

// loginCommand makes the command line. Interactive, because many users set PATH
// in files only an interactive shell reads. echo and a path to env mean the same
// in every shell that is common as a login shell.
func loginCommand(shell string, m markers) ([]string, error) {
	env := "/usr/bin/env"
	if !executable(env) {
		if env = "/bin/env"; !executable(env) {
			return nil, errors.New("there is no env program in /usr/bin or /bin")
		}
	}
	command := "echo " + m.begin + "; " + env + " -0; echo " + m.end
	switch filepath.Base(shell) {
	case "csh", "tcsh":
		// These take -l only as the single argument.
		return []string{shell, "-i", "-c", command}, nil
	}
	return []string{shell, "-i", "-l", "-c", command}, nil
}

// readUntil reads until the end marker came. It does not wait for the end of
// output, which something started in the background may hold open.
func readUntil(ctx context.Context, p *Process, end []byte) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { _ = p.stdout.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var out []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := p.stdout.Read(buf)
		out = append(out, buf[:n]...)
		switch {
		case bytes.Contains(out[max(0, len(out)-n-len(end)):], end):
			return out, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, errNoMarker
		case len(out) > maxLoginOutput:
			return nil, fmt.Errorf("it printed more than %d bytes", maxLoginOutput)
		}
	}
}
