package process

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"time"
)

// DefaultLoginTimeout is how long a login shell may take. Version managers that
// run in a shell's start files need a second or two.
const DefaultLoginTimeout = 10 * time.Second

// Login resolves the login-shell environment once and remembers it. A desktop
// starts programs with a short PATH, and what the user installed is only on the
// PATH their shell sets (SCENARIOS L1).
type Login struct {
	shell   string
	timeout time.Duration
	turn    chan struct{}
	known   bool
	env     []string
	reason  error
	took    time.Duration
}

// NewLogin prepares the environment of a shell; see [LoginEnv].
func NewLogin(shell string, timeout time.Duration) *Login {
	return &Login{shell: shell, timeout: timeout, turn: make(chan struct{}, 1)}
}

// Env returns what [LoginEnv] returns, the first time by asking the shell, later
// from memory. Callers that come at the same time share one shell. A ctx that
// ends aborts the caller, and what it found is not remembered.
func (l *Login) Env(ctx context.Context) ([]string, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return ownEnv(), loginError(ctx.Err())
	}
	if l.known {
		return l.env, l.reason
	}
	began := time.Now()
	env, err := LoginEnv(ctx, l.shell, l.timeout)
	if err != nil && ctx.Err() != nil {
		return env, err
	}
	l.known, l.env, l.reason, l.took = true, env, err, time.Since(began)
	return env, err
}

// Took returns the shell that was asked, and how long it took, 0 before the first
// [Login.Env] has returned.
func (l *Login) Took() (shell string, took time.Duration) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return LoginShell(l.shell), l.took
}

// LoginShell is the shell that a path means: empty is $SHELL, else /bin/sh.
func LoginShell(path string) string {
	if path == "" {
		path = os.Getenv("SHELL")
	}
	if path == "" {
		path = "/bin/sh"
	}
	return path
}

func loginError(cause error) *Error {
	return errorf(CodeLoginEnv, cause, "The environment of the login shell is not known (%v); the environment ao-host was started with is used instead.", cause)
}

var (
	errNoMarker = errors.New("the shell ended without running the command")
	errNoPath   = errors.New("the shell printed no usable environment")
)

// markers enclose the environment in what a shell prints. They differ, because a
// shell may export its last argument as the variable _, the first marker.
type markers struct{ begin, end string }

// parseLoginEnv finds the environment between the markers. What the shell's start
// files print around them does not matter. Variables that belong to that shell
// alone are left out.
func parseLoginEnv(out []byte, m markers) ([]string, error) {
	_, rest, ok := bytes.Cut(out, []byte(m.begin+"\n"))
	if !ok {
		return nil, errNoMarker
	}
	block, _, ok := bytes.Cut(rest, []byte(m.end+"\n"))
	if !ok {
		return nil, errNoMarker
	}
	// An env that does not know -0 ends its entries otherwise, and they cannot be
	// told from the lines of a value.
	entries, ok := strings.CutSuffix(string(block), "\x00")
	if !ok {
		return nil, errNoPath
	}
	var env []string
	for _, kv := range strings.Split(entries, "\x00") {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		switch name {
		case "_", "SHLVL", "PWD", "OLDPWD":
		default:
			env = append(env, kv)
		}
	}
	if path, ok := lookupEnv(env, "PATH"); !ok || path == "" {
		return nil, errNoPath
	}
	return env, nil
}
