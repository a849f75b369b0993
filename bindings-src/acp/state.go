package acp

import (
	"errors"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/jsonwire"
	"github.com/aoagents/ao-host/bindings-src/savedstate"
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

	// held are forms that wait for the update of their tool call.
	held     []heldForm
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
type place struct{ id, turn, child, session string }

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
	r.state = state{}
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
		r.state = state{}
		return ErrState
	}
	return nil
}

// walk names every member once, for writing and for reading.
func (s *state) walk(w *savedstate.Walker) {
	w.Str("phase", &s.phase)
	w.Value("open", &s.open)
	w.Str("provider", &s.version)
	w.Object("caps", func(w *savedstate.Walker) {
		w.Bool("load", &s.caps.load)
		w.Bool("resume", &s.caps.resume)
		w.Bool("list", &s.caps.list)
		w.Bool("close", &s.caps.close)
		w.Bool("images", &s.caps.images)
	})
	savedstate.List(w, "auth", &s.auth, func(w *savedstate.Walker, a *AuthMethod) {
		w.Str("id", &a.ID)
		w.Str("type", &a.Type)
	})
	w.Bool("auth_tried", &s.authTried)
	w.Str("after_auth", &s.afterAuth)
	w.Str("session", &s.session)
	savedstate.Text(w, "restored", &s.restored)
	w.Str("reason", &s.reason)
	w.Str("title", &s.title)
	w.Bool("settled", &s.settled)
	w.Strs("found", &s.found)
	w.Object("settings", s.settings.walk)
	w.Value("observed", &s.observed)
	w.Str("told", &s.told)
	w.Strs("early", &s.early)
	w.Int("early_bytes", &s.earlyBytes)
	w.Str("commands", &s.commands)
	savedstate.Optional(w, "cur", &s.cur, (*turn).walk)
	savedstate.Optional(w, "own", &s.own, (*turn).walk)
	savedstate.List(w, "recent", &s.recent, func(w *savedstate.Walker, e *ended) {
		w.Str("native", &e.native)
		w.Str("turn", &e.turn)
	})
	w.Bool("quiet", &s.quiet)
	savedstate.Optional(w, "job", &s.job, (*job).walk)
	savedstate.Optional(w, "call", &s.call, (*setter).walk)
	w.Str("mend", &s.mend)
	w.Int("seq", &s.seq)
	w.Object("stream", s.stream.walk)
	w.Int("streams", &s.streams)
	savedstate.List(w, "messages", &s.messages, func(w *savedstate.Walker, p *place) {
		w.Str("id", &p.id)
		w.Str("turn", &p.turn)
		w.Str("child", &p.child)
		w.Str("session", &p.session)
	})
	savedstate.List(w, "tools", &s.tools, func(w *savedstate.Walker, t *tool) { t.walk(w) })
	savedstate.List(w, "held", &s.held, func(w *savedstate.Walker, h *heldForm) { h.walk(w) })
	savedstate.List(w, "requests", &s.requests, func(w *savedstate.Walker, q *Request) { q.walk(w) })
	savedstate.Optional(w, "chain", &s.chain, (*chain).walk)
	w.Str("rejected", &s.rejected)
	savedstate.Values(w, "totals", &s.totals)
	w.Str("usage_told", &s.usageTold)
	w.Strs("warned", &s.warned)
	savedstate.Values(w, "problems", &s.problems)
}
