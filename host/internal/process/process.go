// Package process starts a harness as a child process, sees it exit, and proves
// that nothing of it is left (DESIGN §6, rules 21 and 21a).
//
// A child gets a session of its own, which makes it the leader of its own process
// group too. Against a group alone that has two advantages: a harness that opens
// the terminal of a foreground ao-host is refused instead of stopped with
// SIGTTOU, and commands that a harness puts into groups of their own are still
// found by their session.
//
// PR_SET_PDEATHSIG is deliberately not used. It is bound to the thread that
// forked, and Go ends threads while the process lives, so it would kill healthy
// children; it does not reach grandchildren; and there is no counterpart on
// macOS. When the host dies the child reads the end of its stdin, and the next
// start ends what is left, by pid and start time ([EndOrphan]).
package process

import (
	"fmt"
	"strings"
)

// DefaultStderrLimit is how much of a child's stderr is kept, in bytes.
const DefaultStderrLimit = 64 << 10

// Spec says what to start.
type Spec struct {
	// Argv is the command and its arguments. A command without a slash is looked up
	// in the PATH of Env, not in the host's; relative folders in PATH are passed
	// over, because the working directory is the user's project and may hold
	// anything.
	Argv []string
	// Dir is the working directory, absolute. It may be empty for a command that
	// does not care, such as printing a version.
	Dir string
	// RealDir is what Dir resolved to when it was chosen, from [RealDir]. If it
	// resolves to something else now, because a folder became a symbolic link, the
	// start is refused. Empty: not checked.
	RealDir string
	// Env is the whole environment, KEY=VALUE, see [Environment]. Of several entries
	// for a variable the last counts. PWD is set to Dir.
	Env []string
	// StderrLimit is how many bytes of the end of stderr are kept; default
	// [DefaultStderrLimit].
	StderrLimit int
}

// Exit is how a process ended.
type Exit struct {
	// Code is the exit code, -1 when a signal ended it or when it is not known
	// because somebody else in the host's process collected the child.
	Code int
	// Signal is the name of the signal that ended it, SIGKILL for example, or empty.
	Signal string
}

// String is "exit code 1" or "signal SIGKILL".
func (e Exit) String() string {
	if e.Signal != "" {
		return "signal " + e.Signal
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// Codes of [Error]. They are stable.
const (
	CodeHarnessNotFound    = "harness_not_found"
	CodeInterpreterMissing = "harness_interpreter_missing"
	CodeDirMissing         = "working_directory_missing"
	CodeDirNotADirectory   = "working_directory_not_a_directory"
	CodeDirChanged         = "working_directory_changed"
	CodeLaunchFailed       = "launch_failed"
	CodeExitUnproven       = "exit_unproven"
	CodeLoginEnv           = "login_environment_unavailable"
	CodeUnsupported        = "unsupported_platform"
)

// Error is a failure a person can do something about.
type Error struct {
	// Code is one of the Code constants.
	Code string
	// Message says what is wrong and what to do.
	Message string
	// Err is the cause, or nil.
	Err error
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

func errorf(code string, cause error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Err: cause}
}

// lookupEnv returns the value of a variable; the last entry counts.
func lookupEnv(env []string, name string) (string, bool) {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// lastOnly keeps the last entry of every variable: of two entries some programs
// read the first and some the last.
func lastOnly(env []string) []string {
	at := make(map[string]int, len(env))
	out := make([]string, 0, len(env))
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if i, ok := at[name]; ok {
			out[i] = kv
			continue
		}
		at[name] = len(out)
		out = append(out, kv)
	}
	return out
}
