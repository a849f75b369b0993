package host_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/internal/faultydisk"
)

// storeVFS is the name under which the store registers its files.
const storeVFS = "ao-host"

// errDiskFull is how the store's files tell it.
var errDiskFull = vfs.SystemError(syscall.ENOSPC, sqlite3.FULL)

// onFaultyDisk has what is opened from now on, by any test, write to a disk that can run
// full.
func onFaultyDisk(t *testing.T) *faultydisk.Disk {
	t.Helper()
	base, ok := vfs.Find(storeVFS).(vfs.VFSFilename)
	if !ok {
		t.Fatal("the store has its files under another name")
	}
	d := faultydisk.New(base)
	vfs.Register(storeVFS, d)
	t.Cleanup(func() { vfs.Register(storeVFS, base) })
	return d
}

// soon bounds what must not wait for room on the disk.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// untilRoom does something once the conversation has noticed that there is room again:
// it tries once a second.
func (r *rig) untilRoom(do func() error) {
	r.t.Helper()
	r.until("there to be room", func() bool {
		err := do()
		if err != nil {
			wantCode(r.t, err, host.CodeStoreFull)
		}
		return err == nil
	})
}

// works has turns that last until they are stopped, but for those that say so.
const works = `{"turns":[{"when":{"text":"quick"},"repeat":true,"steps":[{"say":"Done."}]},{"repeat":true,"steps":[{"say":"Working."},{"wait_interrupt":true}]}]}`

func TestD5_ADeletionOnAFullDiskIsRefusedAndStopsNothing(t *testing.T) {
	disk := onFaultyDisk(t)
	r := newRig(t, works)
	first := r.send("Go")
	r.untilTurn(first.ID, host.TurnRunning)
	waiting := r.send("quick")
	disk.Fail(0, errDiskFull)
	for range 2 {
		wantCode(t, r.h.Delete(soon(t), r.conv, host.DeleteRequest{Unfinished: true}), host.CodeStoreFull)
	}
	disk.Heal()
	if q := r.controls().Queue; q.Held || r.turn(first.ID).State != host.TurnRunning || r.turn(waiting.ID).State != host.TurnQueued {
		t.Fatalf("it was refused, and the turn is %s, the queue %+v", r.turn(first.ID).State, q)
	}
	if err := r.h.Delete(soon(t), r.conv, host.DeleteRequest{Unfinished: true}); err != nil {
		t.Fatal(err)
	}
	_, err := r.h.Conversation(t.Context(), r.conv)
	wantCode(t, err, host.CodeUnknownConversation)
}

func TestD5_ADeletionDuringWhichTheDiskRunsFullFailsAndLeavesTheConversationStopped(t *testing.T) {
	disk := onFaultyDisk(t)
	r := newRig(t, works, func(cfg *host.Config) { cfg.StopGrace = 300 * time.Millisecond })
	var deleted, failed, midway int
	for room := int64(0); deleted == 0; room += 12 << 10 {
		r.conv = fmt.Sprint("c", room)
		if _, err := r.h.Create(t.Context(), host.NewConversation{ID: r.conv, Harness: "codex", Cwd: r.cwd}); err != nil {
			t.Fatal(err)
		}
		first := r.send("Go")
		r.untilTurn(first.ID, host.TurnRunning)
		waiting := r.send("quick")
		pid := r.controls().Session.PID
		disk.Fail(room, errDiskFull)
		err := r.h.Delete(soon(t), r.conv, host.DeleteRequest{Unfinished: true})
		if err != nil && host.CodeOf(err) != host.CodeStoreFull {
			t.Fatalf("with room for %d bytes: %v", room, err)
		}
		disk.Heal()
		_, there := r.h.Conversation(t.Context(), r.conv)
		if host.CodeOf(there) == host.CodeUnknownConversation {
			// It was decided, whatever is left to be removed.
			deleted++
			continue
		}
		if err == nil || there != nil {
			t.Fatalf("with room for %d bytes: the deletion says %v, the conversation %v", room, err, there)
		}
		failed++
		if r.turn(first.ID).State == host.TurnRunning && r.controls().Session.State == host.SessionReady {
			// Nothing was begun.
			continue
		}
		midway++
		r.untilTurn(first.ID, host.TurnInterrupted)
		r.until("the process to end", func() bool { return !alive(pid) })
		r.until("the queue to be held", func() bool { return r.controls().Queue.Held })
		if q := r.controls().Queue; q.Reason != host.CodeHoldDeletion {
			t.Fatalf("with room for %d bytes: the queue is held as %q", room, q.Reason)
		}
		if midway%2 == 0 {
			r.untilRoom(func() error { _, err := r.h.ResumeQueue(t.Context(), r.conv); return err })
			r.untilTurn(waiting.ID, host.TurnCompleted)
			continue
		}
		r.untilRoom(func() error { return r.h.Delete(soon(t), r.conv, host.DeleteRequest{Unfinished: true}) })
	}
	if failed == 0 || midway == 0 {
		t.Fatalf("%d failed, %d of them midway, so this proves little", failed, midway)
	}
	t.Logf("%d failed, %d of them midway", failed, midway)
}

func TestD5_AnAgentCanBeStoppedOnAFullDiskAlsoByTheRequestThatMeetsItFirst(t *testing.T) {
	disk := onFaultyDisk(t)
	r := newRig(t, works)
	first := r.send("Go")
	r.untilTurn(first.ID, host.TurnRunning)
	waiting := r.send("quick")
	pid := r.controls().Session.PID
	disk.Fail(0, errDiskFull)
	_, err := r.h.Stop(soon(t), r.conv, host.StopOptions{})
	wantCode(t, err, host.CodeStoreFull)
	r.until("the process to end", func() bool { return !alive(pid) })
	disk.Heal()
	r.untilTurn(first.ID, host.TurnInterrupted)
	r.until("the queue to be held", func() bool { return r.controls().Queue.Held })
	r.untilRoom(func() error { _, err := r.h.ResumeQueue(t.Context(), r.conv); return err })
	r.untilTurn(waiting.ID, host.TurnCompleted)
}

func TestD5_AStopThatTheHarnessIgnoresEndsItsProcessOnAFullDiskToo(t *testing.T) {
	disk := onFaultyDisk(t)
	r := newRig(t, `{"methods":{"turn/interrupt":[{"hang":true}]},"turns":[{"repeat":true,"steps":[{"say":"Working."},{"wait_interrupt":true}]}]}`,
		func(cfg *host.Config) { cfg.StopGrace = 200 * time.Millisecond })
	first := r.send("Go")
	r.untilTurn(first.ID, host.TurnRunning)
	pid := r.controls().Session.PID
	if _, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	disk.Fail(0, errDiskFull)
	r.until("the stop to be overdue", func() bool {
		_, err := r.h.Stop(soon(t), r.conv, host.StopOptions{})
		return err != nil && host.CodeOf(err) == host.CodeStoreFull
	})
	r.until("the process to end", func() bool { return !alive(pid) })
	disk.Heal()
	r.untilTurn(first.ID, host.TurnInterrupted)
}

func TestD5_AProbeThatMeetsAFullDiskIsToldSo(t *testing.T) {
	disk := onFaultyDisk(t)
	r := newRig(t, works)
	disk.Fail(0, errDiskFull)
	_, err := r.h.Probe(soon(t), r.conv)
	wantCode(t, err, host.CodeStoreFull)
	disk.Heal()
	r.untilRoom(func() error {
		_, err := r.h.Send(t.Context(), r.conv, host.Message{ClientID: "m", Content: host.Text("quick")})
		return err
	})
	turns, err := r.h.Turns(t.Context(), r.conv)
	if err != nil || len(turns) != 1 {
		t.Fatalf("%d turns, %v", len(turns), err)
	}
	r.untilTurn(turns[0].ID, host.TurnCompleted)
}

func TestD5_AConversationThatIsNotDeletedOnAFullDiskIsThereAfterARestart(t *testing.T) {
	disk := onFaultyDisk(t)
	r := newRig(t, works, func(cfg *host.Config) { cfg.LeaveIdle = true })
	r.untilTurn(r.send("quick").ID, host.TurnCompleted)
	r.send("Go")
	before := len(r.journal())
	disk.Fail(0, errDiskFull)
	wantCode(t, r.h.Delete(soon(t), r.conv, host.DeleteRequest{Unfinished: true}), host.CodeStoreFull)
	disk.Heal()
	r.restart()
	if n := len(r.journal()); n < before {
		t.Fatalf("the journal had %d events, and %d after", before, n)
	}
	if texts := r.texts(abi.ItemMessage); len(texts) == 0 || texts[0] != "Done." {
		t.Fatalf("it has %q", texts)
	}
	if err := r.h.Delete(soon(t), r.conv, host.DeleteRequest{Unfinished: true}); err != nil {
		t.Fatal(err)
	}
}
