package daemon_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
	"github.com/aoagents/ao-host/host"
)

// races is how often two daemons race.
func races(t *testing.T) int {
	if testing.Short() {
		return 5
	}
	return 100
}

// Two clients find no daemon and start one each, as processes: both end up with the
// same one, and nothing that was accepted is lost.
func TestTwoDaemonsThatRaceOneWinsAndNoClientIsLost(t *testing.T) {
	for range races(t) {
		dir := newFolder(t)
		cwd := tempDir(t)
		ctx := patient(t)
		var clients [2]*client.Client
		var infos [2]daemon.Info
		var wg sync.WaitGroup
		for i := range clients {
			wg.Go(func() {
				c, info, err := daemon.Start(ctx, dir, program(t))
				if err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
				clients[i], infos[i] = c, info
			})
		}
		wg.Wait()
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, daemon.LogName))
			t.Fatalf("the log:\n%s", log)
		}
		if infos[0].PID == 0 || infos[0].PID != infos[1].PID {
			t.Fatalf("processes %d and %d", infos[0].PID, infos[1].PID)
		}
		for _, c := range clients {
			// There are no bindings; that it says so is the answer of a host.
			_, err := c.Create(ctx, host.NewConversation{Harness: "none", Cwd: cwd})
			wantCode(t, err, host.CodeUnknownHarness)
			_ = c.Close(ctx)
		}
		if was, err := daemon.Stop(ctx, dir); err != nil || !was {
			t.Fatalf("stop: %v %v", was, err)
		}
		if left, err := daemon.Stop(ctx, dir); err != nil || left {
			t.Fatalf("a second daemon was there: %v", err)
		}
	}
}

// While one daemon ends the next one waits for it, and gets a socket that the one
// before does not take away (D3).
func TestD3_ADaemonThatEndsLeavesItsSuccessorsSocketAlone(t *testing.T) {
	dir := newFolder(t)
	ctx := t.Context()
	before := serve(t, daemon.Config{Host: host.Config{Dir: dir}})
	for range races(t) {
		before.end()
		// It takes no more clients, and has not ended yet.
		await(t, "the end of the socket", func() bool {
			_, err := os.Lstat(before.info.Socket)
			return errors.Is(err, os.ErrNotExist)
		})
		next := serve(t, daemon.Config{Host: host.Config{Dir: dir}})
		before.stop(t)
		c, info, err := daemon.Running(ctx, dir)
		if err != nil {
			t.Fatalf("the successor does not answer: %v", err)
		}
		if info.PID != os.Getpid() || info.Socket != filepath.Join(dir, daemon.SocketName) {
			t.Errorf("it says %+v", info)
		}
		_ = c.Close(ctx)
		before = next
	}
	before.stop(t)
	if _, err := os.Lstat(before.info.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, _, err := daemon.Running(context.Background(), dir); !errors.Is(err, daemon.ErrNotRunning) {
		t.Errorf("error %v", err)
	}
}
