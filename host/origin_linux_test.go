package host_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aoagents/ao-host/host"
)

// The modes of folder and socket keep other users out already; here they are open,
// so that it is the kernel's word about the peer that counts.
func TestD2_AnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	r := newRig(t, echo)
	socket := serveUnix(t, r.h)
	for path, mode := range map[string]os.FileMode{filepath.Dir(socket): 0o755, socket: 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	type answer struct {
		status int
		code   host.Code
		err    error
	}
	answered := make(chan answer)
	go func() {
		// This thread becomes another user, alone, and ends with the goroutine. The
		// connection is made on it.
		runtime.LockOSThread()
		const nobody, same = 65534, ^uintptr(0)
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, same, nobody, same); e != 0 {
			answered <- answer{err: e}
			return
		}
		var a answer
		a.status, a.code, a.err = askBlocking(socket)
		answered <- a
	}()
	if a := <-answered; a.status != 403 || a.code != host.CodeForeignUser {
		t.Errorf("another user was answered %d %s %v", a.status, a.code, a.err)
	}
	if status, code, err := askOn(socket, "GET", "/v1/version"); status != 200 {
		t.Errorf("the user was answered %d %s %v", status, code, err)
	}
}

// askBlocking sends a request from this very thread.
func askBlocking(socket string) (int, host.Code, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return 0, "", err
	}
	f := os.NewFile(uintptr(fd), socket)
	defer f.Close()
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
		return 0, "", err
	}
	req, err := http.NewRequest(http.MethodGet, "http://localhost/v1/version", nil)
	if err != nil {
		return 0, "", err
	}
	if err := req.Write(f); err != nil {
		return 0, "", err
	}
	res, err := http.ReadResponse(bufio.NewReader(f), req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	var p host.Problem
	_ = json.NewDecoder(res.Body).Decode(&p)
	return res.StatusCode, p.Code, nil
}
