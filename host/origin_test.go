package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/host"
)

// askHost makes the test binary a program that sends one request: ask-host SOCKET
// METHOD PATH. It prints the status and the code of the answer.
const askHost = "ask-host"

func askSocket(socket, method, path string) {
	status, code, err := askOn(socket, method, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(status, code)
}

func askOn(socket, method, path string) (int, host.Code, error) {
	var d net.Dialer
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", socket) }}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequest(method, "http://localhost"+path, nil)
	if err != nil {
		return 0, "", err
	}
	res, err := tr.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	var p host.Problem
	_ = json.NewDecoder(res.Body).Decode(&p)
	return res.StatusCode, p.Code, nil
}

// embedder has a route of its own beside those of the host.
func embedder(h *host.Host) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v1/", h.Handler())
	mux.Handle("/own/", h.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })))
	return mux
}

// serveUnix serves a host as an embedder does, and returns the socket.
func serveUnix(t *testing.T, h *host.Host) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ao-host-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &httptest.Server{Listener: ln, Config: &http.Server{Handler: embedder(h), ConnContext: host.ConnContext}}
	srv.Start()
	t.Cleanup(srv.Close)
	return socket
}

func TestAHarnessMayReadFromAnEmbeddersSocketAndChangeNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"turns":[{"steps":[{"run":{"command":"sh ask.sh","approve":false,"shell":true}},{"say":"done"}]}]}`)
	socket := serveUnix(t, r.h)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stop := "/v1/conversations/" + r.conv + "/stop"
	var script strings.Builder
	for _, c := range [][2]string{{"POST", stop}, {"GET", "/v1/conversations"}, {"HEAD", "/v1/version"}, {"POST", "/own/thing"}, {"GET", "/own/thing"}} {
		fmt.Fprintf(&script, "env -u %s '%s' %s '%s' %s %s >> asked\n", scriptedEnv, self, askHost, socket, c[0], c[1])
	}
	if err := os.WriteFile(filepath.Join(r.cwd, "ask.sh"), []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	turn := r.send("ask")
	r.untilTurn(turn.ID, host.TurnCompleted)
	got, err := os.ReadFile(filepath.Join(r.cwd, "asked"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "403 agent_origin\n200 \n200 \n403 agent_origin\n202 \n"; string(got) != want {
		t.Errorf("the harness was answered\n%swant\n%s", got, want)
	}
	// What the user runs is no harness, also when the embedder itself has started it.
	out, err := exec.Command(self, askHost, socket, "POST", stop).CombinedOutput()
	if err != nil || string(out) != "409 nothing_running\n" {
		t.Errorf("the user was answered %s %v", out, err)
	}
	if status, code, err := askOn(socket, "POST", stop); status != 409 || code != host.CodeNothingRunning {
		t.Errorf("the embedder itself was answered %d %s %v", status, code, err)
	}
	if status, code, err := askOn(socket, "POST", "/own/thing"); status != http.StatusAccepted {
		t.Errorf("on its own route the user was answered %d %s %v", status, code, err)
	}
}

func TestOnlyWhoBearsTheTokenGetsThrough(t *testing.T) {
	t.Parallel()
	r := newRig(t, echo)
	for _, token := range []string{"secret", ""} {
		srv := httptest.NewServer(host.RequireToken(r.h.Handler(), token))
		defer srv.Close()
		for _, c := range []struct {
			authorization string
			ok            bool
		}{{"", false}, {"Bearer wrong", false}, {"Bearer ", false}, {"Basic secret", false}, {"Bearer secret", true}, {"bearer  secret ", true}} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/v1/version", nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.authorization != "" {
				req.Header.Set("Authorization", c.authorization)
			}
			res, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			want := http.StatusUnauthorized
			// No token is not a token that everybody has.
			if c.ok && token != "" {
				want = http.StatusOK
			}
			if res.StatusCode != want || (want == http.StatusUnauthorized) != (res.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("token %q, Authorization %q: %d", token, c.authorization, res.StatusCode)
			}
		}
	}
}
