package daemon_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
	"github.com/aoagents/ao-host/host"
)

func TestD3_ADaemonWhoseFolderWasReplacedLeavesItsSuccessorsSocket(t *testing.T) {
	t.Cleanup(daemon.PlaceInterval(time.Hour))
	dir := newFolder(t)
	first := serve(t, daemon.Config{Host: host.Config{Dir: dir}})
	if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	second := serve(t, daemon.Config{Host: host.Config{Dir: dir}})
	first.stop(t)
	if _, err := os.Lstat(second.info.Socket); err != nil {
		t.Fatalf("the successor's socket: %v", err)
	}
}

func TestADaemonWhoseFolderWasRemovedEnds(t *testing.T) {
	t.Cleanup(daemon.PlaceInterval(10 * time.Millisecond))
	dir := newFolder(t)
	s := serve(t, daemon.Config{Host: host.Config{Dir: dir}})
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.done:
		if host.CodeOf(err) != host.CodeStoreReadOnly {
			t.Errorf("it ended with %v", err)
		}
		close(s.done)
	case <-time.After(patience):
		t.Fatal("it stays in a folder that is gone")
	}
}

func TestADaemonWhoseSocketWasRemovedListensAgain(t *testing.T) {
	t.Cleanup(daemon.PlaceInterval(10 * time.Millisecond))
	dir := newFolder(t)
	s := serve(t, daemon.Config{Host: host.Config{Dir: dir}})
	if err := os.Remove(s.info.Socket); err != nil {
		t.Fatal(err)
	}
	c := client.Unix(s.info.Socket, client.Options{})
	defer func() {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := c.Version(t.Context()); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("nobody listens: %v", err)
		}
	}
	if fi, err := os.Lstat(s.info.Socket); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi, err)
	}
	s.stop(t)
	if _, err := os.Lstat(s.info.Socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket stays: %v", err)
	}
}
