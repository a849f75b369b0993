//go:build linux || darwin

package process

import (
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// These look from inside: a pid that is reused at the right moment cannot be
// arranged from outside.

func tableOf(rows ...proc) table {
	t := table{rows: rows, byPID: make(map[int]proc)}
	for _, p := range rows {
		t.byPID[p.pid] = p
	}
	return t
}

func pidsOf(procs []proc) []int {
	var out []int
	for _, p := range procs {
		out = append(out, p.pid)
	}
	return out
}

func TestRule21a_WhatIsLeftOfASessionIsToldFromStrangers(t *testing.T) {
	const leader, start = 100, 5000
	left := proc{pid: 101, ppid: 1, session: leader, start: start + 10}
	for _, tc := range []struct {
		name string
		rows []proc
		want []int
	}{
		{"leader and others", []proc{{pid: leader, session: leader, start: start}, left, {pid: 102, session: 7, start: start + 1}}, []int{leader, 101}},
		{"the leader has ended", []proc{left}, []int{101}},
		{"the leader waits to be collected", []proc{{pid: leader, session: leader, start: start, dead: true}, left}, []int{101}},
		{"only dead ones", []proc{{pid: 101, session: leader, start: start + 10, dead: true}}, nil},
		{"the number belongs to another leader", []proc{{pid: leader, session: leader, start: start + 900}, {pid: 101, ppid: leader, session: leader, start: start + 950}}, nil},
		{"the number belongs to a process of another session", []proc{{pid: leader, session: 7, start: start + 900}, left}, nil},
		{"older than the leader", []proc{{pid: 101, session: leader, start: start - 1}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := pidsOf(tableOf(tc.rows...).inSession(leader, start, start)); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestADescendantIsNeverOlderThanItsParent(t *testing.T) {
	rows := tableOf(
		proc{pid: 100, ppid: 1, start: 50},
		proc{pid: 101, ppid: 100, start: 60},
		proc{pid: 102, ppid: 101, start: 70},
		proc{pid: 103, ppid: 100, start: 40},
		proc{pid: 104, ppid: 104, start: 80},
		proc{pid: 105, ppid: 999, start: 80},
	)
	for pid, want := range map[int]bool{100: true, 101: true, 102: true, 103: false, 104: false, 105: false} {
		if got := rows.descends(rows.byPID[pid], map[int]bool{100: true}); got != want {
			t.Errorf("process %d: %v, want %v", pid, got, want)
		}
	}
}

func TestRule21a_ASignalReachesOnlyTheProcessWithTheRightStartTime(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	p, ok, err := inspect(cmd.Process.Pid)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	signalExactly(p.pid, p.start+1, syscall.SIGKILL)
	time.Sleep(50 * time.Millisecond)
	if now, ok, err := inspect(p.pid); err != nil || !ok || now.dead {
		t.Fatalf("a process with another start time was hit: %+v %v %v", now, ok, err)
	}
	signalExactly(p.pid, p.start, syscall.SIGKILL)
	if err := cmd.Wait(); err == nil {
		t.Error("the right one was not hit")
	}
}
