package acp

import (
	"errors"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
)

// StateVersion numbers the format of [Reducer.Save]; the manifests name it.
const StateVersion = 1

// ErrState: the bytes are not a state of this version. The host answers by opening
// a new state through native resume.
var ErrState = errors.New("acp: not a saved state of version 1")

// The phases of a session.
const (
	phaseInitializing = "initializing"
	phaseRestoring    = "restoring"
	phaseStarting     = "starting"
	phaseAuth         = "authenticating"
	phaseListing      = "listing"
	phaseReady        = "ready"
	// phaseStuck: no session came about, or the process is gone.
	phaseStuck = "stuck"
)

// state is all a session remembers between two events.
type state struct {
	phase   string
	open    abi.Open
	version string
	caps    agentCaps
	auth    []AuthMethod
	// authTried: authenticate was called once in this process. afterAuth is the phase
	// to go back to.
	authTried bool
	afterAuth string

	session  string
	restored abi.Restored
	reason   string
	title    string
	// settled: a prompt of ours was sent, so what comes from now on is no late replay
	// of a restored session (S5).
	settled bool
	found   []string

	settings settings
	observed abi.Observed
	// told is the catalog as it was sent last.
	told string

	// early are updates that came before the session had an id (T6), commands the
	// list that waits for ready (C3).
	early      []string
	earlyBytes int64
	commands   string

	// cur is our turn, own a turn the agent began by itself.
	cur    *turn
	own    *turn
	recent []ended
	// quiet: something happened in the own turn since its timer was set.
	quiet bool

	// job is our submission while its settings are being put in force; call is the
	// setter that waits for its answer, for this job or for one that was stopped.
	job  *job
	call *setter
	// mend is the native mode that is to follow an approved review.
	mend string
	// seq numbers the tokens of setters.
	seq int64

	stream   stream
	streams  int64
	messages []place
	tools    []tool

	requests []Request
	chain    *chain
	// rejected is the key of the permission request or review that was rejected last
	// and may be followed by a form for the words that go with it.
	rejected string

	totals    []abi.Metric
	usageTold string
	warned    []string
	problems  []abi.Problem
}

// agentCaps is what initialize advertises.
type agentCaps struct{ load, resume, list, close, images bool }

// ended is a turn that is over; what names its prompt still belongs to it.
type ended struct{ native, turn string }

// place remembers where a message or a tool call belongs.
type place struct{ id, turn, child string }

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
	r.state = state{}
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
		r.state = state{}
		return ErrState
	}
	return nil
}

// walk names every member once, for writing and for reading.
func (s *state) walk(w *walker) {
	w.str("phase", &s.phase)
	w.value("open", &s.open)
	w.str("provider", &s.version)
	w.object("caps", func(w *walker) {
		w.bool("load", &s.caps.load)
		w.bool("resume", &s.caps.resume)
		w.bool("list", &s.caps.list)
		w.bool("close", &s.caps.close)
		w.bool("images", &s.caps.images)
	})
	list(w, "auth", &s.auth, func(w *walker, a *AuthMethod) {
		w.str("id", &a.ID)
		w.str("type", &a.Type)
	})
	w.bool("auth_tried", &s.authTried)
	w.str("after_auth", &s.afterAuth)
	w.str("session", &s.session)
	text(w, "restored", &s.restored)
	w.str("reason", &s.reason)
	w.str("title", &s.title)
	w.bool("settled", &s.settled)
	w.strs("found", &s.found)
	w.object("settings", s.settings.walk)
	w.value("observed", &s.observed)
	w.str("told", &s.told)
	w.strs("early", &s.early)
	w.int("early_bytes", &s.earlyBytes)
	w.str("commands", &s.commands)
	optional(w, "cur", &s.cur, (*turn).walk)
	optional(w, "own", &s.own, (*turn).walk)
	list(w, "recent", &s.recent, func(w *walker, e *ended) {
		w.str("native", &e.native)
		w.str("turn", &e.turn)
	})
	w.bool("quiet", &s.quiet)
	optional(w, "job", &s.job, (*job).walk)
	optional(w, "call", &s.call, (*setter).walk)
	w.str("mend", &s.mend)
	w.int("seq", &s.seq)
	w.object("stream", s.stream.walk)
	w.int("streams", &s.streams)
	list(w, "messages", &s.messages, func(w *walker, p *place) {
		w.str("id", &p.id)
		w.str("turn", &p.turn)
		w.str("child", &p.child)
	})
	list(w, "tools", &s.tools, func(w *walker, t *tool) { t.walk(w) })
	list(w, "requests", &s.requests, func(w *walker, q *Request) { q.walk(w) })
	optional(w, "chain", &s.chain, (*chain).walk)
	w.str("rejected", &s.rejected)
	values(w, "totals", &s.totals)
	w.str("usage_told", &s.usageTold)
	w.strs("warned", &s.warned)
	values(w, "problems", &s.problems)
}
