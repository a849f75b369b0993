package codex

import (
	"errors"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
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
	modes      []abi.ModeChoice
	presets    []preset

	// The provider's own baseline and the thread that was started to read it.
	baseline       stance
	baselineKnown  bool
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

// edit is a file change that waits, so that its approval can show it.
type edit struct{ thread, item, changes string }

// Save appends the session state as JSON.
func (r *Reducer) Save(dst []byte) []byte {
	w := walker{dst: append(dst, '{'), writing: true}
	version := int64(StateVersion)
	w.int("version", &version)
	r.walk(&w)
	return append(w.dst, '}')
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
	walkObject(&d, func(w *walker) {
		w.int("version", &version)
		r.walk(w)
	})
	if !d.End() || version != StateVersion {
		*r = Reducer{}
		return ErrState
	}
	return nil
}

// walk names every member once, for writing and for reading.
func (s *state) walk(w *walker) {
	w.str("phase", &s.phase)
	w.int("waiting", &s.waiting)
	w.value("open", &s.open)
	w.str("provider", &s.version)
	w.bool("needs_auth", &s.needsAuth)
	w.bool("signed_out", &s.signedOut)
	values(w, "models", &s.models)
	w.int("model_pages", &s.modelPages)
	values(w, "modes", &s.modes)
	list(w, "presets", &s.presets, func(w *walker, p *preset) {
		w.str("mode", &p.mode)
		w.str("model", &p.model)
	})
	w.object("baseline", s.baseline.walk)
	w.bool("baseline_known", &s.baselineKnown)
	w.str("baseline_thread", &s.baselineThread)
	w.str("session", &s.session)
	w.str("session_model", &s.sessionModel)
	text(w, "restored", &s.restored)
	w.str("reason", &s.reason)
	w.str("title", &s.title)
	w.strs("found", &s.found)
	w.int("history_pages", &s.historyPages)
	w.value("observed", &s.observed)
	w.bool("settings_seen", &s.settingsSeen)
	text(w, "last_sent", &s.lastSent)
	optional(w, "cur", &s.cur, (*turn).walk)
	optional(w, "own", &s.own, (*turn).walk)
	list(w, "recent", &s.recent, func(w *walker, e *ended) {
		w.str("native", &e.native)
		w.str("turn", &e.turn)
	})
	list(w, "steers", &s.steers, func(w *walker, x *steering) { x.walk(w) })
	list(w, "requests", &s.requests, func(w *walker, x *request) { x.walk(w) })
	list(w, "edits", &s.edits, func(w *walker, e *edit) {
		w.str("thread", &e.thread)
		w.str("item", &e.item)
		w.str("changes", &e.changes)
	})
	w.strs("asked", &s.asked)
	w.strs("warned", &s.warned)
	values(w, "problems", &s.problems)
}

func (s *stance) walk(w *walker) {
	w.str("policy", &s.policy)
	w.str("reviewer", &s.reviewer)
	w.str("sandbox", &s.sandbox)
	w.str("model", &s.model)
	w.str("effort", &s.effort)
	w.str("mode", &s.mode)
}

func (t *turn) walk(w *walker) {
	w.str("id", &t.id)
	w.str("client", &t.client)
	w.str("native", &t.native)
	w.str("mode", &t.mode)
	w.bool("starting", &t.starting)
	w.bool("accepted", &t.accepted)
	w.bool("started", &t.started)
	w.bool("stop", &t.stop)
	w.bool("interrupted", &t.interrupted)
	w.bool("retried", &t.retried)
	w.bool("done", &t.done)
	text(w, "status", &t.status)
	w.object("failure", t.failure.walk)
	w.object("retry", t.retry.walk)
}

func (f *fault) walk(w *walker) {
	w.str("code", &f.code)
	w.str("message", &f.message)
	w.int("http", &f.http)
}

func (s *steering) walk(w *walker) {
	w.str("id", &s.id)
	w.str("client", &s.client)
	w.str("turn", &s.turn)
	w.str("input", &s.input)
	w.bool("sent", &s.sent)
	w.bool("settled", &s.settled)
}

func (q *request) walk(w *walker) {
	w.str("key", &q.key)
	w.str("token", &q.token)
	w.str("id", &q.id)
	w.str("method", &q.method)
	w.str("thread", &q.thread)
	w.str("turn", &q.turn)
	values(w, "fields", &q.fields)
	list(w, "decisions", &q.decisions, func(w *walker, d *decision) {
		w.str("id", &d.id)
		w.str("native", &d.native)
	})
	w.bool("form", &q.form)
	text(w, "disposition", &q.disposition)
}
