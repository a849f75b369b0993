package daemon_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
	"github.com/aoagents/ao-host/host"
)

func TestD1_ALongHomePathGetsAShortSocketThatClientAndDaemonAgreeOn(t *testing.T) {
	ctx := patient(t)
	short := tempDir(t)
	defer daemon.ShortParent(short)()
	home := filepath.Join(tempDir(t), strings.Repeat("häuser 家/", 12))
	dir := filepath.Join(home, ".local", "state", "ao-host")
	endWithTest(t, dir)
	if len(dir) < 120 {
		t.Fatalf("the path has only %d bytes", len(dir))
	}
	c, info, err := daemon.Start(ctx, dir, program(t, shortEnv+"="+short))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	if len(info.Socket) > daemon.MaxSocketPath || !strings.HasPrefix(info.Socket, short) {
		t.Errorf("the socket is %s", info.Socket)
	}
	if m := mode(t, filepath.Dir(info.Socket)); m != 0o700 {
		t.Errorf("its folder has the mode %o", m)
	}
	// The same folder by another name has the same daemon, and another one has not.
	link := filepath.Join(tempDir(t), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	again, other, err := daemon.Running(ctx, link)
	if err != nil || other.PID != info.PID {
		t.Fatalf("by another name: %+v %v", other, err)
	}
	_ = again.Close(ctx)
	second := serve(t, daemon.Config{Host: host.Config{Dir: dir + "-2"}})
	if second.info.Socket == info.Socket {
		t.Error("two folders share a socket")
	}
	second.stop(t)
	if _, err := c.Version(ctx); err != nil {
		t.Errorf("the end of another daemon took the socket away: %v", err)
	}
}

func TestD1_APathOfEveryLengthHasASocket(t *testing.T) {
	defer daemon.ShortParent(tempDir(t))()
	base, err := filepath.EvalSymlinks(tempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	limit := daemon.MaxSocketPath - len("/"+daemon.SocketName)
	for n := limit - 2; n <= limit+2; n++ {
		dir := base + "/" + strings.Repeat("x", n-len(base)-1)
		s := serve(t, daemon.Config{Host: host.Config{Dir: dir}})
		if inside := filepath.Dir(s.info.Socket) == dir; inside != (n <= limit) {
			t.Errorf("the socket of a path of %d bytes is %s", n, s.info.Socket)
		}
		s.stop(t)
	}
}

// Anybody can make a folder in /tmp.
func TestD1_AFolderForShortPathsThatIsNotOursAloneIsNotUsed(t *testing.T) {
	base := tempDir(t)
	for name, make := range map[string]func(path string) error{
		"open to others": func(p string) error {
			if err := os.Mkdir(p, 0o755); err != nil {
				return err
			}
			return os.Chmod(p, 0o755)
		},
		"a link": func(p string) error {
			if err := os.Mkdir(p+"-target", 0o700); err != nil {
				return err
			}
			return os.Symlink(p+"-target", p)
		},
		"a file": func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"another user's": func(p string) error {
			if os.Geteuid() != 0 {
				return os.WriteFile(p, nil, 0o600)
			}
			if err := os.Mkdir(p, 0o700); err != nil {
				return err
			}
			return os.Chown(p, 65534, 65534)
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent := filepath.Join(base, strings.ReplaceAll(name, " ", "-"))
			if err := os.Mkdir(parent, 0o700); err != nil {
				t.Fatal(err)
			}
			defer daemon.ShortParent(parent)()
			if err := make(daemon.ShortFolder()); err != nil {
				t.Fatal(err)
			}
			ctx := patient(t)
			dir := filepath.Join(tempDir(t), strings.Repeat("d", 120))
			err := daemon.Serve(ctx, daemon.Config{Host: host.Config{Dir: dir}})
			wantCode(t, err, host.CodeSocketUnusable)
			_, _, err = daemon.Running(ctx, dir)
			wantCode(t, err, host.CodeSocketUnusable)
		})
	}
}

func TestD2_FolderSocketAndFilesAreTheUsersAloneUnderAnyUmask(t *testing.T) {
	for _, umask := range []int{0, 0o777, 0o022} {
		t.Run(fmt.Sprintf("%03o", umask), func(t *testing.T) {
			parent := tempDir(t)
			dir := filepath.Join(parent, "data")
			defer syscall.Umask(syscall.Umask(umask))
			// With all bits masked the test's own folder could not be made.
			if umask == 0o777 && os.Geteuid() != 0 {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			s := serve(t, daemon.Config{Host: host.Config{Dir: dir}, Listen: "127.0.0.1:0"})
			if m := mode(t, dir); m != 0o700 {
				t.Errorf("the folder has the mode %o", m)
			}
			for _, name := range []string{daemon.SocketName, daemon.LockName, daemon.TokenName} {
				if m := mode(t, filepath.Join(dir, name)); m != 0o600 {
					t.Errorf("%s has the mode %o", name, m)
				}
			}
			s.stop(t)
			ctx := patient(t)
			c, _, err := daemon.Start(ctx, dir, program(t))
			if err != nil {
				t.Fatal(err)
			}
			_ = c.Close(ctx)
			for _, name := range []string{daemon.SocketName, daemon.LockName, daemon.LogName} {
				if m := mode(t, filepath.Join(dir, name)); m != 0o600 {
					t.Errorf("started in the background: %s has the mode %o", name, m)
				}
			}
			if _, err := daemon.Stop(ctx, dir); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestD2_AFolderThatWasOpenToOthersIsClosed(t *testing.T) {
	dir := newFolder(t)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	serve(t, daemon.Config{Host: host.Config{Dir: dir}})
	if m := mode(t, dir); m != 0o700 {
		t.Errorf("the folder has the mode %o", m)
	}
}

// What a killed daemon leaves behind, and numbers that belong to somebody else now,
// stop no start.
func TestD3_WhatADeadDaemonLeftStopsNoStart(t *testing.T) {
	ctx := patient(t)
	dir := newFolder(t)
	c, info, err := daemon.Start(ctx, dir, program(t))
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close(ctx)
	kill(t, info.PID)
	if _, err := os.Lstat(info.Socket); err != nil {
		t.Fatalf("the killed daemon left no socket, the test proves nothing: %v", err)
	}
	// Its number is this test's now, as far as the file tells.
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Wait() }()
	defer func() { _ = other.Process.Kill() }()
	record := fmt.Sprintf(`{"pid":%d,"start":1,"version":"x","socket":"/nowhere"}`, other.Process.Pid)
	if err := os.WriteFile(filepath.Join(dir, daemon.LockName), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	if was, err := daemon.Stop(ctx, dir); err != nil || was {
		t.Errorf("stop: %v %v", was, err)
	}
	c, next, err := daemon.Start(ctx, dir, program(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	if next.PID == info.PID || next.PID == other.Process.Pid || next.PID == 0 {
		t.Errorf("process %d", next.PID)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a stranger was ended: %v", err)
	}
	// The client of a killed daemon starts it again when something is to be changed.
	kill(t, next.PID)
	if _, err := c.ResumeQueue(ctx, "nobody"); host.CodeOf(err) != host.CodeUnknownConversation {
		t.Errorf("error %v", err)
	}
	kill(t, running(t, dir))
	if _, err := c.Conversations(ctx); host.CodeOf(err) != host.CodeUnreachable {
		t.Errorf("reading brought it back, or %v", err)
	}
}

func running(t *testing.T, dir string) int {
	t.Helper()
	ctx := patient(t)
	c, info, err := daemon.Running(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close(ctx)
	return info.PID
}

// kill ends a process without a chance to clean up, and waits until its sockets are
// closed.
func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, fmt.Sprintf("the end of process %d", pid), func() bool {
		return syscall.Kill(pid, 0) != nil || zombie(pid)
	})
}

// A socket that is there although nobody listens, or that is none at all.
func TestD3_AStrangeFileInPlaceOfTheSocketIsReplaced(t *testing.T) {
	dir := newFolder(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, daemon.SocketName)
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	_ = ln.Close()
	serve(t, daemon.Config{Host: host.Config{Dir: dir}}).stop(t)
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	serve(t, daemon.Config{Host: host.Config{Dir: dir}}).stop(t)
}
