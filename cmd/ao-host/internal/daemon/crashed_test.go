package daemon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
	"github.com/aoagents/ao-host/host"
)

// What a chat starts again unasked is a daemon that died, not one that was ended.
func TestADaemonThatDiedIsToldFromOneThatWasEnded(t *testing.T) {
	dir := newFolder(t)
	if daemon.Crashed(dir) {
		t.Error("there never was one")
	}
	s := serve(t, daemon.Config{Host: host.Config{Dir: dir}})
	lock := filepath.Join(dir, daemon.LockName)
	alive, err := os.ReadFile(lock)
	if err != nil || daemon.Crashed(dir) {
		t.Errorf("it lives: %v", err)
	}
	s.stop(t)
	if daemon.Crashed(dir) {
		t.Error("it was ended in order")
	}
	// As it is after a kill, and after one that came while it was ending.
	var record map[string]any
	if err := json.Unmarshal(alive, &record); err != nil {
		t.Fatal(err)
	}
	// No process has this one.
	record["pid"] = 1 << 30
	for _, ending := range []bool{false, true} {
		if record["ending"] = ending; !ending {
			delete(record, "ending")
		}
		b, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(lock, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := daemon.Crashed(dir); got == ending {
			t.Errorf("ending %v: crashed %v", ending, got)
		}
	}
}
