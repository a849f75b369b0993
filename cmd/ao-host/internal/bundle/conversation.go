package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/store"
)

// conversation is one conversation without its title, its folder and what was said.
type conversation struct {
	ID         string       `json:"id"`
	Harness    string       `json:"harness"`
	CreatedAt  time.Time    `json:"created_at"`
	UpdatedAt  time.Time    `json:"updated_at"`
	Settings   settings     `json:"settings"`
	Revision   int64        `json:"revision"`
	Generation int64        `json:"generation"`
	Held       bool         `json:"held,omitempty"`
	HoldReason string       `json:"hold_reason,omitempty"`
	LastSeq    uint64       `json:"last_seq"`
	Sessions   []generation `json:"sessions"`
	Turns      []turn       `json:"turns"`
	Cards      []card       `json:"cards"`
	Plans      []plan       `json:"plans"`
}

// settings are the settings without the values of options, which can be anything.
type settings struct {
	Mode       string         `json:"mode,omitempty"`
	Permission abi.Permission `json:"permission,omitempty"`
	Model      string         `json:"model,omitempty"`
	Effort     string         `json:"effort,omitempty"`
	Options    []string       `json:"options,omitempty"`
}

type generation struct {
	Number          int64      `json:"number"`
	StartedAt       time.Time  `json:"started_at"`
	ExitedAt        *time.Time `json:"exited_at,omitempty"`
	BindingVersion  string     `json:"binding_version,omitempty"`
	BindingDigest   string     `json:"binding_digest,omitempty"`
	ProviderVersion string     `json:"provider_version,omitempty"`
	Exit            *exit      `json:"exit,omitempty"`
}

// exit is how a process ended, without what it printed.
type exit struct {
	Code   string `json:"code,omitempty"`
	Status int    `json:"status"`
	Signal string `json:"signal,omitempty"`
}

type turn struct {
	ID           string     `json:"id"`
	State        string     `json:"state"`
	Origin       string     `json:"origin"`
	Generation   int64      `json:"generation,omitempty"`
	Settings     settings   `json:"settings"`
	Code         string     `json:"code,omitempty"`
	StopReason   string     `json:"stop_reason,omitempty"`
	Content      []content  `json:"content"`
	AcceptedAt   time.Time  `json:"accepted_at"`
	DispatchedAt *time.Time `json:"dispatched_at,omitempty"`
	StartedAt    *time.Time `json:"started_at,omitempty"`
	EndedAt      *time.Time `json:"ended_at,omitempty"`
}

type content struct {
	Type  abi.ContentType `json:"type"`
	Bytes int             `json:"bytes,omitempty"`
}

type card struct {
	ID          string     `json:"id"`
	Type        string     `json:"type"`
	Route       string     `json:"route"`
	State       string     `json:"state"`
	Disposition string     `json:"disposition,omitempty"`
	Automatic   string     `json:"automatic,omitempty"`
	Generation  int64      `json:"generation"`
	Bytes       int        `json:"bytes"`
	OpenedAt    time.Time  `json:"opened_at"`
	ClosedAt    *time.Time `json:"closed_at,omitempty"`
}

type plan struct {
	ID       string     `json:"id"`
	Revision int64      `json:"revision"`
	State    string     `json:"state"`
	Bytes    int        `json:"bytes"`
	OpenedAt time.Time  `json:"opened_at"`
	ClosedAt *time.Time `json:"closed_at,omitempty"`
}

// name is a word that a program chose, not a sentence: what a provider calls a
// reason, for example.
var name = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,47}$`)

func word(s string) string {
	if s == "" || name.MatchString(s) {
		return s
	}
	return "(text)"
}

// known is a code of ours; those of a provider are told as words only.
func known(code string) string {
	if code == "" || (&host.Error{Code: host.Code(code)}).Advice() != "" {
		return code
	}
	return "other"
}

func at(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func settingsOf(b []byte) settings {
	var s abi.Settings
	_ = json.Unmarshal(b, &s) // a damaged row is told as empty
	out := settings{Mode: word(s.Mode), Permission: s.Permission, Model: word(s.Model), Effort: word(s.Effort)}
	for _, o := range s.Options {
		out.Options = append(out.Options, word(o.ID))
	}
	slices.Sort(out.Options)
	return out
}

func readConversation(ctx context.Context, s *store.Snapshot, row store.Conversation) (conversation, error) {
	out := conversation{
		ID: row.ID, Harness: row.Harness, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, Settings: settingsOf(row.Settings), Revision: row.SettingsRev,
		Generation: row.Generation, Held: row.Held, HoldReason: known(row.HoldReason), LastSeq: row.LastSeq,
		Sessions: []generation{}, Turns: []turn{}, Cards: []card{}, Plans: []plan{},
	}
	for n := max(1, row.Generation-9); n <= row.Generation; n++ {
		g, err := s.Generation(ctx, row.ID, n)
		if store.CodeOf(err) == store.CodeNotFound {
			continue
		}
		if err != nil {
			return out, err
		}
		v := generation{Number: n, StartedAt: g.StartedAt, ExitedAt: at(g.ExitedAt), BindingVersion: g.BindingVersion, BindingDigest: g.BindingDigest, ProviderVersion: word(g.ProviderVersion)}
		if len(g.Exit) > 0 {
			v.Exit = &exit{}
			_ = json.Unmarshal(g.Exit, v.Exit) // of a damaged row there is nothing to tell
			v.Exit.Code = word(v.Exit.Code)
		}
		out.Sessions = append(out.Sessions, v)
	}
	turns, err := s.Turns(ctx, row.ID)
	if err != nil {
		return out, err
	}
	for _, t := range turns {
		v := turn{
			ID: t.ID, State: string(t.State), Origin: t.Origin, Generation: t.Generation, Settings: settingsOf(t.Settings), Code: known(t.ErrorCode), StopReason: word(t.StopReason),
			Content: []content{}, AcceptedAt: t.AcceptedAt, DispatchedAt: at(t.DispatchedAt), StartedAt: at(t.StartedAt), EndedAt: at(t.EndedAt),
		}
		var blocks []abi.Content
		_ = json.Unmarshal(t.Content, &blocks) // a damaged row is told as empty
		for _, b := range blocks {
			v.Content = append(v.Content, content{b.Type, len(b.Text)})
		}
		out.Turns = append(out.Turns, v)
	}
	cards, err := s.Interactions(ctx, row.ID, false)
	if err != nil {
		return out, err
	}
	for _, k := range cards {
		out.Cards = append(out.Cards, card{
			ID: k.ID, Type: word(k.Type), Route: word(k.Route), State: string(k.State), Disposition: word(k.Disposition), Automatic: word(k.Automatic),
			Generation: k.Generation, Bytes: len(k.Body), OpenedAt: k.OpenedAt, ClosedAt: at(k.ClosedAt),
		})
	}
	plans, err := s.Proposals(ctx, row.ID)
	if err != nil {
		return out, err
	}
	for _, p := range plans {
		out.Plans = append(out.Plans, plan{ID: p.ID, Revision: p.Revision, State: string(p.State), Bytes: len(p.Body), OpenedAt: p.OpenedAt, ClosedAt: at(p.ClosedAt)})
	}
	return out, nil
}

// event is one event of a journal without its body.
type event struct {
	Seq   uint64    `json:"seq"`
	At    time.Time `json:"at"`
	Type  string    `json:"type"`
	Turn  string    `json:"turn,omitempty"`
	Bytes int       `json:"bytes"`
	// Code is that of a warning or problem.
	Code string `json:"code,omitempty"`
	// Body is there only with text.
	Body json.RawMessage `json:"body,omitempty"`
}

// readJournal tells the newest events, one a line.
func readJournal(ctx context.Context, s *store.Snapshot, row store.Conversation, withText bool) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	var after uint64
	if row.LastSeq > maxEvents {
		after = row.LastSeq - maxEvents
	}
	for {
		events, err := s.Events(ctx, row.ID, after, 500)
		if err != nil || len(events) == 0 {
			return out.Bytes(), err
		}
		for _, e := range events {
			after = e.Seq
			v := event{Seq: e.Seq, At: e.At, Type: e.Type, Turn: e.TurnID, Bytes: len(e.Body)}
			var coded struct {
				Code string `json:"code"`
			}
			if json.Unmarshal(e.Body, &coded) == nil {
				v.Code = known(coded.Code)
			}
			if withText && json.Valid(e.Body) {
				v.Body = e.Body
			}
			if err := enc.Encode(v); err != nil {
				return out.Bytes(), err
			}
		}
	}
}
