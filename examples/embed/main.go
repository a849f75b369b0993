// Command embed is the daemon of a desktop product of its own: one HTTP server with
// the product's routes beside the whole API of the host. Its window, its menu bar
// and the ao-host command work on the same conversations.
//
//	go run ./examples/embed -data /tmp/desk -launch "bin/ao-host scripted-harness" &
//	curl --unix-socket /tmp/desk/desk.sock localhost/desk/inbox
//	bin/ao-host list --socket /tmp/desk/desk.sock
//
// How an existing service gets here is in docs/embedding.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

func main() {
	harness := flag.String("harness", "codex", "harness that -launch is for")
	launch := flag.String("launch", "", "command that starts it, its words separated by spaces (default: the binding's own)")
	data := flag.String("data", filepath.Join(os.TempDir(), "ao-host-desk"), "data folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg := host.Config{Dir: *data, Client: abi.ClientInfo{Name: "desk", Title: "Desk", Version: "1.0"}}
	if *launch != "" {
		cfg.Launch = map[string]host.Launch{*harness: {Argv: strings.Fields(*launch)}}
	}
	if err := serve(ctx, cfg, filepath.Join(*data, "desk.sock")); err != nil {
		log.Fatal(err)
	}
}

// serve runs the product until ctx ends, and leaves no process behind.
func serve(ctx context.Context, cfg host.Config, socket string) error {
	h, err := host.Open(ctx, cfg)
	if err != nil {
		return err
	}
	// Open holds the folder's lock, so a socket that lies there belongs to nobody.
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, h.Close(ctx))
	}
	l, err := net.Listen("unix", socket)
	if err == nil {
		// The folder is 0700 already; nobody else reaches the socket in between.
		err = os.Chmod(socket, 0o600)
	}
	if err != nil {
		return errors.Join(err, h.Close(ctx))
	}
	// ConnContext lets the host refuse what an agent asks of its own host.
	srv := &http.Server{Handler: routes(h), ConnContext: host.ConnContext, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	// Agents are stopped in order, which ends the event streams, and then the server.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	return errors.Join(err, h.Close(ctx), srv.Shutdown(ctx))
}

// routes are the product's own beside those of the host, closed to agents.
func routes(h *host.Host) http.Handler {
	d := &desk{h}
	mux := http.NewServeMux()
	mux.Handle("/v1/", h.Handler())
	mux.HandleFunc("GET /desk/inbox", answer(d.inbox))
	mux.HandleFunc("POST /desk/tasks", answer(d.begin))
	return h.Guard(mux)
}

// desk is the product: it keeps nothing that the host keeps.
type desk struct{ h *host.Host }

// waiting is one line of the inbox.
type waiting struct {
	Conversation string `json:"conversation"`
	Project      string `json:"project"`
	What         string `json:"what"`
}

// inbox lists what waits for the person, in all projects.
func (d *desk) inbox(r *http.Request) (any, error) {
	all, err := d.h.Conversations(r.Context())
	out := []waiting{}
	for _, c := range all {
		cards, cardErr := d.h.Inputs(r.Context(), c.ID)
		plans, planErr := d.h.Plans(r.Context(), c.ID)
		if err = errors.Join(err, cardErr, planErr); err != nil {
			return nil, err
		}
		for _, card := range cards {
			out = append(out, waiting{c.ID, c.Cwd, string(card.Ask.Type)})
		}
		for _, p := range plans {
			if p.State == host.ProposalOpen {
				out = append(out, waiting{c.ID, c.Cwd, "plan"})
			}
		}
	}
	return out, err
}

// begin plans a task in a project, and asks again before anything is done.
func (d *desk) begin(r *http.Request) (any, error) {
	var task struct{ ID, Harness, Project, Mode, Text string }
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<20)).Decode(&task); err != nil {
		return nil, &host.Error{Code: host.CodeInvalidArgument, Detail: "The task is no JSON.", Err: err}
	}
	// The product's own id makes both steps safe to repeat.
	c, err := d.h.Create(r.Context(), host.NewConversation{ID: task.ID, Harness: task.Harness, Cwd: task.Project, Settings: host.SettingsPatch{Mode: &task.Mode}})
	if err != nil {
		return nil, err
	}
	return d.h.Send(r.Context(), c.ID, host.Message{ClientID: task.ID, Content: host.Text(task.Text)})
}

// answer writes what a route returns; errors look as they do in the host's API.
func answer(do func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		media, status := host.MediaJSON, http.StatusOK
		v, err := do(r)
		if err != nil {
			p := host.ProblemOf(err)
			v, media, status = p, host.MediaProblem, p.Status
		}
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) // the client may have gone
	}
}
