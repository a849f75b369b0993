package daemon_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/api/client"
	"github.com/aoagents/ao-host/cmd/ao-host/internal/daemon"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/internal/lockfile"
)

func TestASecondDaemonOfAFolderIsToldOfTheFirst(t *testing.T) {
	dir := newFolder(t)
	s := serve(t, daemon.Config{Host: host.Config{Dir: dir}})
	err := daemon.Serve(patient(t), daemon.Config{Host: host.Config{Dir: dir}})
	var running *daemon.RunningError
	if !errors.As(err, &running) || running.Info.PID != s.info.PID {
		t.Errorf("error %v", err)
	}
	if _, err := os.Lstat(s.info.Socket); err != nil {
		t.Errorf("the second one took the socket away: %v", err)
	}
}

func TestADaemonOfAnotherVersionIsNamedAndNotUsed(t *testing.T) {
	dir := newFolder(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(dir, daemon.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", host.MediaJSON)
		_ = json.NewEncoder(w).Encode(host.VersionInfo{Version: "v9.9.9"})
	})}
	go func() { _ = srv.Serve(ln) }()
	defer srv.Close()
	ctx := patient(t)
	for name, reach := range map[string]func() error{
		"running": func() error { _, _, err := daemon.Running(ctx, dir); return err },
		"started": func() error { _, _, err := daemon.Start(ctx, dir, program(t)); return err },
	} {
		err := reach()
		wantCode(t, err, host.CodeVersionMismatch)
		for _, say := range []string{"v9.9.9", host.Version(), "serve --replace"} {
			if err == nil || !strings.Contains(err.Error(), say) {
				t.Errorf("%s: the error does not say %q: %v", name, say, err)
			}
		}
	}
}

func TestADaemonThatHoldsTheFolderAndDoesNotAnswerIsNamed(t *testing.T) {
	dir := newFolder(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, daemon.LockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if ok, err := lockfile.Take(f); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := lockfile.Write(f, daemon.Info{Holder: lockfile.Self(time.Now())}); err != nil {
		t.Fatal(err)
	}
	defer daemon.LockPatience(10 * time.Millisecond)()
	err = daemon.Serve(patient(t), daemon.Config{Host: host.Config{Dir: dir}})
	wantCode(t, err, host.CodeStoreLocked)
	if err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("error %v", err)
	}
}

func TestWhyADaemonDoesNotStartIsToldToWhoWantedIt(t *testing.T) {
	ctx := patient(t)
	dir := newFolder(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ao-host.db"), []byte(strings.Repeat("no database", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := daemon.Start(ctx, dir, program(t))
	wantCode(t, err, host.CodeStoreCorrupt)
	if _, err := os.Lstat(filepath.Join(dir, daemon.SocketName)); !errors.Is(err, os.ErrNotExist) {
		t.Error("a socket is left")
	}
	for name, argv := range map[string][]string{"missing": {"/nowhere/ao-host"}, "silent": {"/bin/true"}} {
		_, _, err = daemon.Start(ctx, newFolder(t), daemon.Program{Argv: argv})
		if host.CodeOf(err) != host.CodeDaemonNotStarted || !strings.Contains(err.Error(), daemon.LogName) {
			t.Errorf("%s: %v", name, err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := daemon.Start(gone, newFolder(t), program(t)); err == nil {
		t.Error("a cancelled start succeeded")
	}
}

func TestOverTCPTheTokenDecides(t *testing.T) {
	dir := newFolder(t)
	s := serve(t, daemon.Config{Host: host.Config{Dir: dir}, Listen: "127.0.0.1:0"})
	ctx := patient(t)
	b, err := os.ReadFile(filepath.Join(dir, daemon.TokenName))
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(b))
	if len(token) < 40 {
		t.Errorf("the token has %d characters", len(token))
	}
	for _, c := range []struct {
		token string
		want  host.Code
	}{{"", host.CodeUnauthorized}, {"wrong", host.CodeUnauthorized}, {token, ""}} {
		cl, err := client.New("http://"+s.info.Address, client.Options{Token: c.token})
		if err != nil {
			t.Fatal(err)
		}
		_, err = cl.Version(ctx)
		wantCode(t, err, c.want)
		_ = cl.Close(ctx)
	}
	s.stop(t)
	// It stays the same, so that programs need not be told each time.
	serve(t, daemon.Config{Host: host.Config{Dir: dir}, Listen: "localhost:0"}).stop(t)
	if again, err := os.ReadFile(filepath.Join(dir, daemon.TokenName)); err != nil || string(again) != string(b) {
		t.Errorf("another token: %v", err)
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "nonsense", "example.com:80"} {
		err := daemon.Serve(ctx, daemon.Config{Host: host.Config{Dir: newFolder(t)}, Listen: address})
		wantCode(t, err, host.CodeInvalidArgument)
	}
}

func TestAnEndingDaemonEndsStreamsWithTheNumberToGoOnAfter(t *testing.T) {
	dir := newFolder(t)
	s := serve(t, daemon.Config{Host: host.Config{Dir: dir}})
	ctx := patient(t)
	c, _, err := daemon.Running(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	conv, err := c.Create(ctx, host.NewConversation{Harness: "codex", Cwd: tempDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close(ctx)
	var d net.Dialer
	hc := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "unix", s.info.Socket)
	}}}
	defer hc.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/v1/conversations/"+conv.ID+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := hc.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	var last string
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "event: ") {
			last = lines.Text()
		}
		if strings.HasPrefix(lines.Text(), "id: 1") {
			s.end()
		}
	}
	if last != "event: end" || lines.Err() != nil {
		t.Errorf("the stream ended with %q, %v", last, lines.Err())
	}
	s.stop(t)
}
