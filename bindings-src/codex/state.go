package codex

import (
	"errors"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/savedstate"
)

// StateVersion numbers the format of [Reducer.Save]; the manifest names it.
const StateVersion = 1

// ErrState: the bytes are not a state of this version. The host answers by
// opening a new state through native resume.
var ErrState = errors.New("codex: not a saved state of version 1")

// The phases of a session.
const (
	phaseInitializing = "initializing"
	phaseReading      = "reading"
	phaseRestoring    = "restoring"
	phaseStarting     = "starting"
	phaseHistory      = "history"
	phaseReady        = "ready"
	// phaseStuck: no session came about, or the process is gone.
	phaseStuck = "stuck"
)

// What phaseReading waits for.
const (
	waitAccount int64 = 1 << iota
	waitModels
	waitModes
	waitBaseline
)

// state is all a session remembers between two events.
type state struct {
	phase   string
	waiting int64
	open    abi.Open
	version string
	// needsAuth: the configured provider wants a Codex sign-in; signedOut: there
	// is none.
	needsAuth bool
	signedOut bool

	// The live catalog as the provider lists it.
	models     []abi.ModelChoice
	modelPages int64
	modelBytes int64
	modes      []abi.ModeChoice
	presets    []preset

	// The provider's own baseline, which only a new thread shows, and the thread that
	// was started to read it. It is empty while nothing told it.
	baseline       stance
	baselineThread string

	session      string
	sessionModel string
	restored     abi.Restored
	reason       string
	title        string

	found        []string
	historyPages int64

	observed abi.Observed
	// settingsSeen: a notification told what is in force after the call that
	// restores was sent, so its answer is older (rule 4).
	settingsSeen bool
	lastSent     abi.Permission

	// cur is our turn, own the turn the agent began by itself.
	cur    *turn
	own    *turn
	recent []ended
	steers []steering

	requests []request
	edits    []edit
	asked    []string
	warned   []string
	problems []abi.Problem
}

// preset is what a collaboration mode proposes besides its effort.
type preset struct{ mode, model string }

// stance is the native settings that make up a tuple. Policy and sandbox are raw
// JSON, because both can be objects that are passed back as they came.
type stance struct {
	policy, reviewer, sandbox string
	model, effort, mode       string
}

// ended is a turn that is over; late items still belong to it.
type ended struct{ native, turn string }

// edit is a file change that waits, so that its approval can show it. paths names the
// files where the changes are too long to be kept.
type edit struct{ thread, item, changes, paths string }

// Save appends the session state as JSON.
func (r *Reducer) Save(dst []byte) []byte {
	version := int64(StateVersion)
	return savedstate.Append(dst, func(w *savedstate.Walker) {
		w.Int("version", &version)
		r.walk(w)
	})
}

// Load restores what [Reducer.Save] wrote. On an error the reducer is as new.
func (r *Reducer) Load(saved []byte) error {
	*r = Reducer{}
	var d jsonwire.Decoder
	d.Reset(saved)
	if d.Kind() != jsonwire.Object {
		return ErrState
	}
	var version int64
	savedstate.Read(&d, func(w *savedstate.Walker) {
		w.Int("version", &version)
		r.walk(w)
	})
	if !d.End() || version != StateVersion {
		*r = Reducer{}
		return ErrState
	}
	return nil
}

// walk names every member once, for writing and for reading.
func (s *state) walk(w *savedstate.Walker) {
	w.Str("phase", &s.phase)
	w.Int("waiting", &s.waiting)
	w.Value("open", &s.open)
	w.Str("provider", &s.version)
	w.Bool("needs_auth", &s.needsAuth)
	w.Bool("signed_out", &s.signedOut)
	savedstate.Values(w, "models", &s.models)
	w.Int("model_pages", &s.modelPages)
	w.Int("model_bytes", &s.modelBytes)
	savedstate.Values(w, "modes", &s.modes)
	savedstate.List(w, "presets", &s.presets, func(w *savedstate.Walker, p *preset) {
		w.Str("mode", &p.mode)
		w.Str("model", &p.model)
	})
	w.Object("baseline", s.baseline.walk)
	w.Str("baseline_thread", &s.baselineThread)
	w.Str("session", &s.session)
	w.Str("session_model", &s.sessionModel)
	savedstate.Text(w, "restored", &s.restored)
	w.Str("reason", &s.reason)
	w.Str("title", &s.title)
	w.Strs("found", &s.found)
	w.Int("history_pages", &s.historyPages)
	w.Value("observed", &s.observed)
	w.Bool("settings_seen", &s.settingsSeen)
	savedstate.Text(w, "last_sent", &s.lastSent)
	savedstate.Optional(w, "cur", &s.cur, (*turn).walk)
	savedstate.Optional(w, "own", &s.own, (*turn).walk)
	savedstate.List(w, "recent", &s.recent, func(w *savedstate.Walker, e *ended) {
		w.Str("native", &e.native)
		w.Str("turn", &e.turn)
	})
	savedstate.List(w, "steers", &s.steers, func(w *savedstate.Walker, x *steering) { x.walk(w) })
	savedstate.List(w, "requests", &s.requests, func(w *savedstate.Walker, x *request) { x.walk(w) })
	savedstate.List(w, "edits", &s.edits, func(w *savedstate.Walker, e *edit) {
		w.Str("thread", &e.thread)
		w.Str("item", &e.item)
		w.Str("changes", &e.changes)
		w.Str("paths", &e.paths)
	})
	w.Strs("asked", &s.asked)
	w.Strs("warned", &s.warned)
	savedstate.Values(w, "problems", &s.problems)
}

func (s *stance) walk(w *savedstate.Walker) {
	w.Str("policy", &s.policy)
	w.Str("reviewer", &s.reviewer)
	w.Str("sandbox", &s.sandbox)
	w.Str("model", &s.model)
	w.Str("effort", &s.effort)
	w.Str("mode", &s.mode)
}

func (t *turn) walk(w *savedstate.Walker) {
	w.Str("id", &t.id)
	w.Str("client", &t.client)
	w.Str("native", &t.native)
	w.Str("mode", &t.mode)
	w.Bool("starting", &t.starting)
	w.Bool("accepted", &t.accepted)
	w.Bool("started", &t.started)
	w.Bool("stop", &t.stop)
	w.Bool("interrupted", &t.interrupted)
	w.Bool("retried", &t.retried)
	w.Bool("shown", &t.shown)
	w.Bool("done", &t.done)
	savedstate.Text(w, "status", &t.status)
	w.Object("failure", t.failure.walk)
	w.Object("retry", t.retry.walk)
}

func (f *fault) walk(w *savedstate.Walker) {
	w.Str("code", &f.code)
	w.Str("message", &f.message)
	w.Int("http", &f.http)
}

func (s *steering) walk(w *savedstate.Walker) {
	w.Str("id", &s.id)
	w.Str("client", &s.client)
	w.Str("turn", &s.turn)
	w.Str("input", &s.input)
	w.Bool("sent", &s.sent)
	w.Bool("settled", &s.settled)
}

func (q *request) walk(w *savedstate.Walker) {
	w.Str("key", &q.key)
	w.Str("token", &q.token)
	w.Str("id", &q.id)
	w.Str("method", &q.method)
	w.Str("thread", &q.thread)
	w.Str("turn", &q.turn)
	savedstate.Values(w, "fields", &q.fields)
	savedstate.List(w, "decisions", &q.decisions, func(w *savedstate.Walker, d *decision) {
		w.Str("id", &d.id)
		w.Str("native", &d.native)
	})
	w.Bool("form", &q.form)
	savedstate.Text(w, "disposition", &q.disposition)
}
