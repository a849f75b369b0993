//go:build linux || darwin

package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aoagents/ao-host/host/internal/process"
)

// roleVar makes the test binary act as a child instead of running tests.
const roleVar = "PROCESS_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		os.Exit(play(role, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// lifetime ends the children of the tests, so that a failing test leaves nothing
// behind for long.
const lifetime = 3 * time.Minute

// play is what the children of the tests do.
func play(role string, args []string) int {
	time.AfterFunc(lifetime, func() { os.Exit(99) })
	switch role {
	case "exit":
		code, _ := strconv.Atoi(args[0])
		_, _ = io.WriteString(os.Stderr, "last words")
		return code
	case "signal":
		n, _ := strconv.Atoi(args[0])
		_ = syscall.Kill(os.Getpid(), syscall.Signal(n))
		time.Sleep(lifetime)
	case "report":
		cwd, _ := os.Getwd()
		pgrp, _ := syscall.Getpgid(0)
		_, ttyErr := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		_ = json.NewEncoder(os.Stdout).Encode(report{Args: args, Cwd: cwd, PWD: os.Getenv("PWD"), Env: os.Environ(), Group: pgrp, PID: os.Getpid(), Terminal: ttyErr == nil})
	case "echo":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "stderr":
		n, _ := strconv.Atoi(args[0])
		for i := range n {
			fmt.Fprintf(os.Stderr, "line %d\n", i)
		}
	case "close-stdout":
		_ = os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 7
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		say("stubborn")
		wait()
	case "sleep":
		say("sleep")
		wait()
	case "stopped":
		say("stopped")
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		wait()
	case "family":
		// Starts one child per argument, "role" or "role+setsid" or "role+setpgid",
		// and ends with code 5 when its stdin does, at once with "leave", or not at
		// all with "stay".
		for _, a := range args {
			switch a {
			case "leave":
				return 5
			case "stay":
				wait()
			}
			child, how, _ := strings.Cut(a, "+")
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), roleVar+"="+child)
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: how == "setsid", Setpgid: how == "setpgid"}
			if err := cmd.Start(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 98
			}
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 5
	case "command":
		// A shell that runs something.
		say("command")
		return play("family", []string{"stubborn", "stay"})
	case "detacher":
		// What a program does to become a daemon: a session of its own, and a parent
		// that leaves.
		say("detacher")
		return play("family", []string{"sleep+setsid", "leave"})
	case "leaver":
		say("leaver")
		return play("family", []string{"sleep", "leave"})
	case "forker":
		// Forks on, against SIGKILL arriving process by process.
		signal.Ignore(syscall.SIGTERM)
		say("forker")
		generation := 0
		if len(args) > 0 {
			generation, _ = strconv.Atoi(args[0])
		}
		for range 3 {
			time.Sleep(20 * time.Millisecond)
			if generation < 2 {
				cmd := exec.Command(os.Args[0], strconv.Itoa(generation+1))
				cmd.Env, cmd.Stdout = os.Environ(), os.Stdout
				_ = cmd.Start()
			}
		}
		wait()
	case "host":
		// A host that starts a child and crashes.
		p, err := process.Start(process.Spec{Argv: append([]string{os.Args[0]}, args...), Env: append(os.Environ(), roleVar+"=family")})
		if err != nil {
			fmt.Println(err)
			return 97
		}
		out := bufio.NewReader(p.Stdout())
		var said []string
		for range args {
			line, _ := out.ReadString('\n')
			said = append(said, strings.TrimSpace(line))
		}
		fmt.Println(p.PID(), p.StartTime(), strings.Join(said, ","))
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(lifetime)
	default:
		fmt.Fprintln(os.Stderr, "unknown role", role)
		return 96
	}
	return 0
}

type report struct {
	Args     []string
	Cwd, PWD string
	Env      []string
	Group    int
	PID      int
	Terminal bool
}

func say(role string) { fmt.Printf("%s %d\n", role, os.Getpid()) }

func wait() { time.Sleep(lifetime) }

// patience is long: the machine may be busy, and a test that waits for it fails.
const patience = time.Minute

func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func childEnv(role string) []string {
	return append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, roleVar) }), roleVar+"="+role)
}

// start starts a child in a role and ends it with the test.
func start(t testing.TB, role string, args ...string) *process.Process {
	t.Helper()
	return startSpec(t, process.Spec{Argv: append([]string{self(t)}, args...), Env: childEnv(role)})
}

func startSpec(t testing.TB, spec process.Spec) *process.Process {
	t.Helper()
	p, err := process.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.End(context.Background(), 0); err != nil {
			t.Errorf("End: %v", err)
		}
		_ = p.Stdout().Close()
	})
	return p
}

func waitExit(t testing.TB, p *process.Process) process.Exit {
	t.Helper()
	select {
	case <-p.Done():
		return p.Exit()
	case <-time.After(patience):
		t.Fatal("the exit was not seen")
		return process.Exit{}
	}
}

// hear reads n lines "role pid" and returns the pids by role.
func hear(t testing.TB, r io.Reader, n int) map[string]int {
	t.Helper()
	pids := make(map[string]int)
	lines := bufio.NewScanner(r)
	for len(pids) < n && lines.Scan() {
		role, pid, _ := strings.Cut(lines.Text(), " ")
		pids[role], _ = strconv.Atoi(pid)
	}
	if len(pids) < n {
		t.Fatalf("only %v of %d children spoke: %v", pids, n, lines.Err())
	}
	return pids
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	if err := syscall.Kill(pid, 0); err != nil {
		return !errors.Is(err, syscall.ESRCH)
	}
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func wantGone(t testing.TB, pids map[string]int) {
	t.Helper()
	for role, pid := range pids {
		if alive(pid) {
			t.Errorf("%s (pid %d) is still running", role, pid)
		}
	}
}

func wantCode(t testing.TB, err error, code string, say ...string) {
	t.Helper()
	var e *process.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want the code %s", err, code)
	}
	for _, s := range say {
		if !strings.Contains(e.Message, s) {
			t.Errorf("the message does not say %q: %s", s, e.Message)
		}
	}
}
