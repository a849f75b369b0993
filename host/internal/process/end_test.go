//go:build linux || darwin

package process_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aoagents/ao-host/host/internal/process"
)

func end(t *testing.T, p *process.Process, grace time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	if err := p.End(context.Background(), grace); err != nil {
		t.Fatalf("End: %v", err)
	}
	return time.Since(began)
}

func TestEndClosesStdinAndTerminatesWithoutWaitingOutTheGrace(t *testing.T) {
	p := start(t, "sleep")
	hear(t, p.Stdout(), 1)
	if took := end(t, p, patience); took > patience/2 {
		t.Errorf("it took %v", took)
	}
	if e := waitExit(t, p); e.Signal != "SIGTERM" {
		t.Errorf("got %v", e)
	}
	if _, err := p.Stdin().Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("stdin is still open: %v", err)
	}
	if gone, err := process.Gone(p.PID(), p.StartTime()); !gone || err != nil {
		t.Errorf("Gone says %v, %v", gone, err)
	}
}

func TestL4_AProcessThatIgnoresSIGTERMIsKilledAfterTheGrace(t *testing.T) {
	p := start(t, "stubborn")
	pids := hear(t, p.Stdout(), 1)
	const grace = 200 * time.Millisecond
	if took := end(t, p, grace); took < grace || took > patience/2 {
		t.Errorf("it took %v", took)
	}
	if e := waitExit(t, p); e.Signal != "SIGKILL" {
		t.Errorf("got %v", e)
	}
	wantGone(t, pids)
}

func TestL4_GrandchildrenOfEveryKindAreEndedToo(t *testing.T) {
	for _, kids := range [][]string{
		{"stubborn"},
		{"sleep", "stubborn+setpgid"},
		{"sleep+setsid", "stubborn"},
		{"stubborn+setsid", "sleep+setpgid"},
	} {
		t.Run(strings.Join(kids, ","), func(t *testing.T) {
			p := start(t, "family", kids...)
			pids := hear(t, p.Stdout(), len(kids))
			end(t, p, 100*time.Millisecond)
			wantGone(t, pids)
			// The group is empty, so nobody holds stdout any more.
			if _, err := io.ReadAll(p.Stdout()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestL4_WhatAChildLeftBehindWhenItExitedIsEndedByEnd(t *testing.T) {
	p := start(t, "family", "stubborn", "leave")
	pids := hear(t, p.Stdout(), 1)
	if e := waitExit(t, p); e.Code != 5 {
		t.Errorf("got %v", e)
	}
	if gone, err := process.Gone(p.PID(), p.StartTime()); gone || err != nil {
		t.Errorf("Gone says %v, %v although a grandchild runs", gone, err)
	}
	end(t, p, 50*time.Millisecond)
	wantGone(t, pids)
	if gone, err := process.Gone(p.PID(), p.StartTime()); !gone || err != nil {
		t.Errorf("Gone says %v, %v", gone, err)
	}
	if e := p.Exit(); e.Code != 5 {
		t.Errorf("ending the rest changed the exit to %v", e)
	}
}

func TestL4_CommandsInSessionsOfTheirOwnAreEndedAlthoughTheChildCrashed(t *testing.T) {
	// The child's child leads a session of its own and has a child in turn; then
	// both of them die and only the innermost is left, without any parent.
	p := start(t, "family", "command+setsid")
	pids := hear(t, p.Stdout(), 2)
	if err := p.Observe(); err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(pids["command"], syscall.SIGKILL)
	_ = syscall.Kill(p.PID(), syscall.SIGKILL)
	if e := waitExit(t, p); e.Signal != "SIGKILL" {
		t.Errorf("got %v", e)
	}
	if !alive(pids["stubborn"]) {
		t.Fatal("the innermost process ended by itself, the test proves nothing")
	}
	end(t, p, 50*time.Millisecond)
	wantGone(t, pids)
}

func TestL4_AChildThatEndsWithItsStdinDoesNotHideItsCommands(t *testing.T) {
	p := start(t, "family", "stubborn+setsid")
	pids := hear(t, p.Stdout(), 1)
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	if e := waitExit(t, p); e.Code != 5 {
		t.Errorf("got %v", e)
	}
	end(t, p, 50*time.Millisecond)
	wantGone(t, pids)
}

func TestL4_AProcessThatForksOnDoesNotEscape(t *testing.T) {
	p := start(t, "forker")
	hear(t, p.Stdout(), 1)
	time.Sleep(30 * time.Millisecond)
	end(t, p, 30*time.Millisecond)
	if gone, err := process.Gone(p.PID(), p.StartTime()); !gone || err != nil {
		t.Errorf("Gone says %v, %v", gone, err)
	}
}

func TestAStoppedProcessIsTerminatedWithinTheGrace(t *testing.T) {
	p := start(t, "stopped")
	hear(t, p.Stdout(), 1)
	time.Sleep(50 * time.Millisecond)
	if took := end(t, p, patience); took > patience/2 {
		t.Errorf("it took %v", took)
	}
	if e := waitExit(t, p); e.Signal != "SIGTERM" {
		t.Errorf("got %v", e)
	}
}

func TestACancelledContextKillsAtOnceAndStillProvesTheExit(t *testing.T) {
	p := start(t, "stubborn")
	pids := hear(t, p.Stdout(), 1)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := p.End(ctx, time.Hour); err != nil {
		t.Fatalf("End: %v", err)
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("it took %v", took)
	}
	wantGone(t, pids)
}

func TestEndMayBeCalledAgainAndByManyAtOnce(t *testing.T) {
	p := start(t, "family", "stubborn", "sleep")
	pids := hear(t, p.Stdout(), 2)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := p.End(context.Background(), 20*time.Millisecond); err != nil {
				t.Errorf("End: %v", err)
			}
		})
	}
	all.Wait()
	wantGone(t, pids)
	end(t, p, time.Hour)
}

func TestEndAfterAQuietExitIsQuick(t *testing.T) {
	p := start(t, "exit", "0")
	waitExit(t, p)
	if took := end(t, p, time.Hour); took > patience/2 {
		t.Errorf("it took %v", took)
	}
}

func TestAChildThatLeavesNothingBehindIsCollectedAtOnce(t *testing.T) {
	p := start(t, "exit", "0")
	waitExit(t, p)
	if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the child is a zombie: %v", err)
	}
}

// crash runs a host that starts a child with the given grandchildren and dies.
func crash(t *testing.T, kids ...string) (pid int, started int64, others map[string]int) {
	t.Helper()
	cmd := exec.Command(self(t), kids...)
	cmd.Env = childEnv("host")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	cmd.Stdout = w
	err = cmd.Run()
	_ = w.Close()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the host did not crash as planned: %v", err)
	}
	line := make([]byte, 4096)
	n, _ := r.Read(line)
	fields := strings.SplitN(strings.TrimSpace(string(line[:n])), " ", 3)
	if len(fields) != 3 {
		t.Fatalf("the host said %q", line[:n])
	}
	pid, _ = strconv.Atoi(fields[0])
	started, _ = strconv.ParseInt(fields[1], 10, 64)
	others = make(map[string]int)
	for _, said := range strings.Split(fields[2], ",") {
		role, p, _ := strings.Cut(said, " ")
		others[role], _ = strconv.Atoi(p)
	}
	return pid, started, others
}

func TestRule21a_AfterACrashWhatIsLeftIsFoundAndEnded(t *testing.T) {
	// The child ends with its stdin; the stubborn grandchildren stay.
	pid, started, others := crash(t, "stubborn", "sleep+setpgid")
	deadline := time.Now().Add(patience)
	for alive(pid) && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if gone, err := process.Gone(pid, started); gone || err != nil {
		t.Fatalf("Gone says %v, %v although grandchildren run", gone, err)
	}
	if err := process.EndOrphan(context.Background(), pid, started, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	wantGone(t, others)
	if gone, err := process.Gone(pid, started); !gone || err != nil {
		t.Errorf("Gone says %v, %v", gone, err)
	}
	if err := process.EndOrphan(context.Background(), pid, started, time.Hour); err != nil {
		t.Errorf("ending it again: %v", err)
	}
}

func TestRule21a_AReusedPidIsNeitherOursNorHit(t *testing.T) {
	victim := start(t, "family", "sleep")
	pids := hear(t, victim.Stdout(), 1)
	pid, started := victim.PID(), victim.StartTime()
	for _, recorded := range []int64{started - 1, started + 1, started ^ 1<<45} {
		if gone, err := process.Gone(pid, recorded); !gone || err != nil {
			t.Errorf("Gone says %v, %v of a process that was replaced", gone, err)
		}
		if err := process.EndOrphan(context.Background(), pid, recorded, 0); err != nil {
			t.Error(err)
		}
	}
	time.Sleep(50 * time.Millisecond)
	select {
	case <-victim.Done():
		t.Fatalf("the stranger was hit: %v", victim.Exit())
	default:
	}
	if !alive(pids["sleep"]) {
		t.Error("the stranger's child was hit")
	}
	if gone, err := process.Gone(pid, started); gone || err != nil {
		t.Errorf("Gone says %v, %v of the real one", gone, err)
	}
	if err := process.EndOrphan(context.Background(), pid, started, patience); err != nil {
		t.Error(err)
	}
	if e := waitExit(t, victim); e.Signal != "SIGTERM" {
		t.Errorf("got %v", e)
	}
}

func TestRule21a_ADamagedRecordEndsNothing(t *testing.T) {
	for _, id := range []struct {
		pid   int
		start int64
	}{{0, 5}, {-1, 5}, {1, 5}, {os.Getpid(), 0}, {os.Getpid(), -3}} {
		_, err := process.Gone(id.pid, id.start)
		wantCode(t, err, process.CodeExitUnproven)
		wantCode(t, process.EndOrphan(context.Background(), id.pid, id.start, 0), process.CodeExitUnproven)
	}
}

func TestAPidThatWasNeverUsedIsGone(t *testing.T) {
	if gone, err := process.Gone(1<<30, 1); !gone || err != nil {
		t.Errorf("Gone says %v, %v", gone, err)
	}
}
