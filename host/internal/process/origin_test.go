//go:build linux || darwin

package process_test

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aoagents/ao-host/host/internal/process"
)

func wantOrigin(t *testing.T, who string, pid int, want process.Origin) {
	t.Helper()
	got, err := process.OriginOf(pid)
	if err != nil || got != want {
		t.Errorf("%s: %+v %v, want %+v", who, got, err, want)
	}
}

// orphaned waits until a process has got another parent than the one that leaves. Of
// a process with several threads the table may show the end before that.
func orphaned(t *testing.T, pid, parent int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		now, err := process.ParentOf(pid)
		if err != nil {
			t.Fatal(err)
		}
		if now != parent {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d did not leave %d", parent, pid)
		}
	}
}

func TestAChildAndWhatDescendsFromItAreTold(t *testing.T) {
	p := start(t, "family", "sleep", "stubborn+setsid")
	pids := hear(t, p.Stdout(), 2)
	ours := process.Origin{Child: true, Own: true}
	wantOrigin(t, "the child", p.PID(), ours)
	wantOrigin(t, "its child", pids["sleep"], ours)
	wantOrigin(t, "its child in a session of its own", pids["stubborn"], ours)

	wantOrigin(t, "this process", os.Getpid(), process.Origin{})
	wantOrigin(t, "its parent", os.Getppid(), process.Origin{})
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	wantOrigin(t, "what this process started otherwise", other.Process.Pid, process.Origin{Own: true})
	_ = other.Process.Kill()
	_ = other.Wait()
	if _, err := process.OriginOf(other.Process.Pid); err == nil {
		t.Error("where a process comes from that has ended is told")
	}
	if _, err := process.OriginOf(0); err == nil {
		t.Error("where a process comes from that cannot be seen is told")
	}
}

func TestWhatLostItsParentIsToldByItsSession(t *testing.T) {
	p := start(t, "family", "leaver")
	pids := hear(t, p.Stdout(), 2)
	orphaned(t, pids["sleep"], pids["leaver"])
	got, err := process.OriginOf(pids["sleep"])
	if err != nil || !got.Child {
		t.Errorf("with its root: %+v %v", got, err)
	}
	_ = syscall.Kill(p.PID(), syscall.SIGKILL)
	waitExit(t, p)
	if got, err = process.OriginOf(pids["sleep"]); err != nil || !got.Child {
		t.Errorf("without its root: %+v %v", got, err)
	}
}

// The parent of what detached itself is told only where it can be adopted.
func TestWhatDetachedItselfIsStillOurOwnWhereItIsAdopted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has subreapers")
	}
	stop, err := process.Adopt()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	p := start(t, "family", "detacher")
	pids := hear(t, p.Stdout(), 2)
	orphaned(t, pids["sleep"], pids["detacher"])
	t.Cleanup(func() { _ = syscall.Kill(pids["sleep"], syscall.SIGKILL) })
	wantOrigin(t, "the detached process", pids["sleep"], process.Origin{Own: true})
	end(t, p, time.Second)
	wantOrigin(t, "the detached process without its root", pids["sleep"], process.Origin{Own: true})
}

func TestAdoptedProcessesAreCollectedAndChildrenAreNot(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has subreapers")
	}
	stop, err := process.Adopt()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	p := start(t, "family", "detacher", "stubborn")
	pids := hear(t, p.Stdout(), 3)
	orphaned(t, pids["sleep"], pids["detacher"])
	// A child whose number must not be given away before its exit was taken.
	_ = syscall.Kill(p.PID(), syscall.SIGKILL)
	_ = syscall.Kill(pids["sleep"], syscall.SIGKILL)
	for deadline := time.Now().Add(patience); inTable(t, pids["sleep"]); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the adopted process was not collected")
		}
	}
	if e := waitExit(t, p); e.Signal != "SIGKILL" {
		t.Errorf("the exit of the child was taken away: %v", e)
	}
}

// inTable reports whether the process table shows a number, as that of a zombie too.
func inTable(t *testing.T, pid int) bool {
	t.Helper()
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "PPid:") {
			return true
		}
	}
	return false
}
