//go:build !linux && !darwin

package process

import (
	"context"
	"io"
	"os"
	"time"
)

// Process is a started child. There is none on this platform.
type Process struct{}

func unsupported() *Error {
	return errorf(CodeUnsupported, nil, "ao-host cannot run harnesses on this platform. Use Linux or macOS; on Windows, use WSL.")
}

// Start always fails with the code unsupported_platform.
func Start(Spec) (*Process, error) { return nil, unsupported() }

// Find always fails with the code unsupported_platform.
func Find(Spec) (string, error) { return "", unsupported() }

// Stdin is nil.
func (*Process) Stdin() io.WriteCloser { return nil }

// Stdout is nil.
func (*Process) Stdout() io.ReadCloser { return nil }

// Program is the zero one.
func (*Process) Program() Program { return Program{} }

// PID is 0.
func (*Process) PID() int { return 0 }

// StartTime is 0.
func (*Process) StartTime() int64 { return 0 }

// Observe fails with the code unsupported_platform.
func (*Process) Observe() error { return unsupported() }

// Done is never closed.
func (*Process) Done() <-chan struct{} { return nil }

// Exit is unknown.
func (*Process) Exit() Exit { return Exit{Code: -1} }

// Stderr is empty.
func (*Process) Stderr() string { return "" }

// End fails with the code unsupported_platform.
func (*Process) End(context.Context, time.Duration) error { return unsupported() }

// Gone fails with the code unsupported_platform.
func Gone(int, int64) (bool, error) { return false, unsupported() }

// EndOrphan fails with the code unsupported_platform.
func EndOrphan(context.Context, int, int64, time.Duration) error { return unsupported() }

// LoginEnv returns the environment of this process and the reason.
func LoginEnv(context.Context, string, time.Duration) ([]string, error) {
	return ownEnv(), loginError(unsupported())
}

func ownEnv() []string { return os.Environ() }

func isNotDir(error) bool { return false }

// Origin is what is known of where a process comes from.
type Origin struct{ Child, Own bool }

// OriginOf fails with the code unsupported_platform.
func OriginOf(int) (Origin, error) { return Origin{}, unsupported() }

// Adopt does nothing.
func Adopt() (stop func(), err error) { return func() {}, nil }
