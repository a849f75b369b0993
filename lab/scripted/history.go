package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// record is a line of a thread's file. Every line adds to what came before, so that a
// process that is killed loses nothing but the line it was writing.
type record struct {
	Thread   *threadRecord     `json:"thread,omitempty"`
	Settings *settings         `json:"settings,omitempty"`
	Turn     *turnRecord       `json:"turn,omitempty"`
	Item     *pastItem         `json:"item,omitempty"`
	End      *turnRecord       `json:"end,omitempty"`
	Vars     map[string]string `json:"vars,omitempty"`
	Used     *int              `json:"used,omitempty"`
	Total    *tokens           `json:"total,omitempty"`
	Plan     bool              `json:"plan,omitempty"`
	Name     string            `json:"name,omitempty"`
	Preview  string            `json:"preview,omitempty"`
}

type threadRecord struct {
	ID      string `json:"id"`
	CWD     string `json:"cwd"`
	Created int64  `json:"created"`
	Parent  string `json:"parent,omitempty"`
}

type turnRecord struct {
	ID        string          `json:"id"`
	Root      string          `json:"root,omitempty"`
	Status    string          `json:"status,omitempty"`
	Error     json.RawMessage `json:"error,omitempty"`
	Started   int64           `json:"started,omitempty"`
	Completed int64           `json:"completed,omitempty"`
	Duration  int64           `json:"duration,omitempty"`
}

// history appends to a thread's file.
type history struct{ f *os.File }

func (s *Server) historyPath(id string) string {
	return filepath.Join(s.home, "scripted", id+".jsonl")
}

// keep writes to the file of t, which is made with the first turn: a thread without one
// leaves nothing behind, as with the real harness.
func (s *Server) keep(t *thread, r record) {
	if t.ephemeral || s.home == "" {
		return
	}
	if t.file == nil {
		path := s.historyPath(t.id)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			s.logf("history: %v", err)
			return
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			s.logf("history: %v", err)
			return
		}
		t.file = &history{f}
		if info, err := f.Stat(); err == nil && info.Size() == 0 {
			s.keep(t, record{Thread: &threadRecord{ID: t.id, CWD: t.cwd, Created: t.created, Parent: t.parent}})
		} else if _, err := f.WriteString("\n"); err != nil { // ends a line that a killed process left open
			s.logf("history: %v", err)
		}
	}
	if _, err := t.file.f.Write(append(encode(r), '\n')); err != nil {
		s.logf("history: %v", err)
	}
}

var errNoHistory = errors.New("no history")

// load reads a thread back. A turn without an end was interrupted by the end of the process.
func (s *Server) load(id string) (*thread, error) {
	if s.home == "" {
		return nil, errNoHistory
	}
	data, err := os.ReadFile(s.historyPath(id))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNoHistory
	case err != nil:
		return nil, fmt.Errorf("history: %w", err)
	}
	t := &thread{id: id, vars: map[string]string{}, used: map[int]bool{}}
	for line := range bytes.Lines(data) {
		var r record
		if json.Unmarshal(line, &r) != nil {
			continue // empty, or cut off when the process was killed
		}
		t.apply(r)
	}
	if t.created == 0 {
		return nil, errNoHistory
	}
	for _, turn := range t.turns {
		if turn.status == "inProgress" {
			turn.status = "interrupted"
		}
	}
	t.updated = s.now().Unix()
	return t, nil
}

func (t *thread) apply(r record) {
	switch {
	case r.Thread != nil:
		t.cwd, t.created, t.parent = r.Thread.CWD, r.Thread.Created, r.Thread.Parent
	case r.Settings != nil:
		t.settings = *r.Settings
	case r.Turn != nil:
		t.started++
		t.turns = append(t.turns, &pastTurn{id: r.Turn.ID, root: r.Turn.Root, status: "inProgress", started: r.Turn.Started})
	case r.Item != nil:
		if turn := t.turn(r.Item.Turn); turn != nil {
			turn.items = append(turn.items, *r.Item)
		}
	case r.End != nil:
		if turn := t.turn(r.End.ID); turn != nil {
			turn.status, turn.completed, turn.duration = r.End.Status, r.End.Completed, r.End.Duration
			if r.End.Error != nil {
				turn.err = r.End.Error
			}
		}
	case r.Vars != nil:
		t.vars = r.Vars
	case r.Used != nil:
		t.used[*r.Used] = true
	case r.Total != nil:
		t.total = *r.Total
	case r.Plan:
		t.hasPlan = true
	case r.Name != "":
		t.name = r.Name
	case r.Preview != "":
		t.preview = r.Preview
	}
}

func (t *thread) turn(id string) *pastTurn {
	for i := len(t.turns) - 1; i >= 0; i-- {
		if t.turns[i].id == id {
			return t.turns[i]
		}
	}
	return nil
}

func (h *history) close() {
	if h != nil {
		_ = h.f.Close() // every line was written already
	}
}
