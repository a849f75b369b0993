package host

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host/internal/engine"
	"github.com/aoagents/ao-host/host/internal/process"
	"github.com/aoagents/ao-host/host/internal/transport"
	"github.com/aoagents/ao-host/schemas"
	"github.com/aoagents/ao-host/store"
)

type frame = transport.Frame

// session is one generation: a provider process and the binding instance that
// speaks with it.
type session struct {
	gen int64
	// log names the generation beside the conversation.
	log     *slog.Logger
	watch   *sessionWatch
	binding *binding
	set     *schemas.Set
	inst    *engine.Instance
	proc    *process.Process
	conn    *transport.Conn
	recv    <-chan []frame
	// exited is nil once the exit was seen.
	exited <-chan struct{}
	// inputDone is closed when all the child printed was handled.
	inputDone chan struct{}

	row      store.Generation
	state    SessionState
	slowAt   time.Time
	openedAs abi.Open
	version  string
	// native is the session id the binding reported.
	native string
	// replaying: a restoring call is unanswered, what comes is replay.
	replaying bool
	// ending: we are ending the process on purpose, for this reason.
	ending string
	// endBegun: the process is being ended.
	endBegun bool
	// endAfter is why the process is to be ended once the step under way is over: a
	// transaction holds whole steps.
	endAfter string
	// dir is where the process runs, which Relocate may have changed since.
	dir workDir
	// relaunch: end it once no turn runs.
	relaunch bool
	// signIns are the binding's problems that only a sign-in can mend; the next message
	// is for another process, because this one may keep what it was refused with.
	signIns []abi.Problem
	// inputLost: a frame could not be written.
	inputLost bool
	// launchArgs are the arguments its permission added.
	launchArgs []string

	validator *validator
	calls     map[string]*call
	requests  map[string]*request
	// requestBytes are the parameters of requests together.
	requestBytes int
	cardByOut    map[uint64]string
	turnByOut    map[uint64]string
	timers       map[string]time.Time
	// queued are events that a step caused and that come right after it: the
	// effects of the step may alias the instance's memory until then.
	queued []queuedEvent
	// draining: the events in queued are being given to the binding.
	draining bool
	// saveDue: a turn ended in this step.
	saveDue bool

	inputSeq   uint64
	outSeq     uint64
	requestSeq uint64
	sinceSave  int
	// inputMarks are the input numbers of the states saved in this turn.
	inputMarks []uint64
	lastNow    int64
	eventBuf   []byte
	effects    abi.EffectsDecoder
	seen       map[string]bool
	agentTurn  string
	agentRuns  bool
	// adopted is what the agent works under since a person decided a review that was
	// restored, nil before: what it asks is not unsolicited then.
	adopted *abi.Settings
	// agentStopped: the agent's own turn was asked to stop, and has until agentStop
	// to end, which is zero once that passed.
	agentStopped bool
	agentStop    time.Time
	secrets      *secretBox
	// looked tells whether the program was replaced once a look ends that took too long.
	looked chan bool
	// observing: the process table is about to be read, which it was at observedAt.
	observing  bool
	observedAt time.Time
	// background are the items that run, by id.
	background map[string]runningItem
	// continued counts the requests that an answer also held for, by its key.
	continued map[string]int
}

// queuedEvent is an event for the next step, with the token of the interactive
// request it may reply to.
type queuedEvent struct {
	event abi.Event
	allow string
}

func (s *session) queue(ev abi.Event, allow string) {
	s.queued = append(s.queued, queuedEvent{ev, allow})
}

// dropRequest forgets a request that waits for no reply any more.
func (s *session) dropRequest(token string) {
	if q := s.requests[token]; q != nil {
		delete(s.requests, token)
		s.requestBytes -= q.size
	}
}

// call is one outbound request that waits for its answer.
type call struct {
	token, method string
	delivers      string
	restores      bool
	deadline      time.Time
}

// request is one inbound request that waits for a reply.
type request struct {
	// size is that of its parameters.
	size        int
	id          []byte
	method      string
	interactive bool
}

// window bounds what was read from a child and is not committed yet, in bytes.
// Reading pauses there: a burst slows the reader and never fills the memory.
const window = 2 << 20

// launched is what the launch goroutine hands over.
type launched struct {
	binding *binding
	set     *schemas.Set
	inst    *engine.Instance
	proc    *process.Process
	dir     workDir
	err     error
}

// workDir is a working directory and where its symbolic links lead.
type workDir struct{ cwd, real string }

func dirOf(r store.Conversation) workDir { return workDir{cwd: r.Cwd, real: r.RealCwd} }

// start begins a new generation. The row that names it is committed before
// anything is spawned.
func (c *conversation) start(probe bool) {
	if c.sess != nil || c.launch != nil || c.closing {
		return
	}
	c.row.Generation++
	gen := c.row.Generation
	row := c.row
	c.tx.do(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.InsertGeneration(ctx, store.Generation{ConversationID: c.id, Number: gen, StartedAt: c.h.now()}); err != nil {
			return err
		}
		return tx.UpdateConversation(ctx, row)
	})
	if err := c.h.driftError(c.id); err != nil {
		// This one waits until that is over, and a person can help it.
		c.setProblem(abi.Problem{Code: string(CodeExitUnproven), Field: "session", Message: err.Error(), Needs: abi.NeedsNothing})
	}
	c.commit()
	ctx, cancel := context.WithCancel(c.ctx)
	lc := &launching{cancel: cancel, gen: gen, began: c.h.now(), slowAt: time.Now().Add(c.h.cfg.StartSlow)}
	c.launch = lc
	c.journalSession()
	settings := c.settings
	if t := c.next(); t != nil {
		settings = t.settings
	}
	c.log.Info("a session starts", "generation", gen, "harness", c.row.Harness)
	at := c.row
	go func() {
		l := c.h.launch(ctx, at, settings)
		if !c.h.cameBack(lc) {
			c.land(lc, l)
			return
		}
		c.tell(func() { c.onLaunched(ctx, gen, l, settings, probe) })
	}()
}

// launch finds the binding, proves that no earlier process is left, and starts
// the harness. It runs outside of the conversation's goroutine because each part
// may take long; ctx aborts it.
func (h *Host) launch(ctx context.Context, at store.Conversation, settings abi.Settings) (l launched) {
	l.dir = dirOf(at)
	if l.err = h.awaitLanding(ctx, at.ID); l.err != nil {
		return l
	}
	if l.err = h.proveExits(ctx, at.ID); l.err != nil {
		return l
	}
	if l.binding, l.err = h.bindings.find(ctx, at.Harness); l.err != nil {
		return l
	}
	if l.err = ctx.Err(); l.err != nil {
		// The host may be closed by now.
		return l
	}
	var mod *engine.Module
	if mod, l.set, l.err = l.binding.use(ctx); l.err != nil {
		return l
	}
	defer func() {
		if l.err != nil {
			l.binding.release(h.cfg.IdleSession)
		}
	}()
	env, err := h.env.get(ctx)
	if err != nil {
		l.err = err
		return l
	}
	spec := h.launchSpec(l.binding.info.Manifest, at, settings, env)
	if l.inst, err = mod.Instantiate(ctx); err != nil && ctx.Err() != nil {
		// An aborted start is no fault of the binding.
		l.err = ctx.Err()
		return l
	} else if err != nil {
		l.err = &Error{Code: CodeBindingFault, Detail: sentence(err.Error()), Err: err}
		h.bindings.faulted(l.binding.info.Digest)
		return l
	}
	if l.err = ctx.Err(); l.err == nil {
		l.proc, err = h.cfg.start(spec)
		l.err = h.installHint(processError(err), l.binding.info.Manifest)
	}
	if l.err != nil {
		_ = l.inst.Close(context.WithoutCancel(ctx))
	}
	return l
}

// installHint adds the manifest's sentence on how to install the harness to the
// error that its own command was not found.
func (h *Host) installHint(err error, m abi.Manifest) error {
	var e *Error
	_, replaced := h.cfg.Launch[m.Harness]
	if m.Launch.InstallHint == "" || replaced || !errors.As(err, &e) || e.Code != CodeHarnessNotFound {
		return err
	}
	e.Detail += " " + sentence(m.Launch.InstallHint)
	return e
}

// launchSpec turns the manifest's launch data into a command.
func (h *Host) launchSpec(m abi.Manifest, at store.Conversation, settings abi.Settings, env []string) process.Spec {
	argv := append([]string(nil), m.Launch.Argv...)
	var extra []string
	if o, ok := h.cfg.Launch[at.Harness]; ok {
		if len(o.Argv) > 0 {
			argv = append([]string(nil), o.Argv...)
		}
		extra = o.Env
	}
	argv = append(argv, permissionArgs(m, settings.Permission)...)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "{cwd}", at.Cwd)
	}
	allow := append([]string(nil), m.Launch.Env...)
	if m.Launch.HomeVar != "" {
		allow = append(allow, m.Launch.HomeVar)
	}
	out := process.Environment(env, allow, m.Launch.SetEnv, nil)
	return process.Spec{Argv: argv, Dir: at.Cwd, RealDir: at.RealCwd, Env: append(out, extra...)}
}

// permissionArgs are the launch flags of a permission; unset is the default one.
func permissionArgs(m abi.Manifest, p abi.Permission) (args []string) {
	for _, a := range m.Launch.PermissionArgv {
		if a.Permission == permissionOf(p) {
			args = append(args, a.Args...)
		}
	}
	return args
}

// facts tells the binding which variables are set, never their values.
func facts(m abi.Manifest, env []string) []abi.Fact {
	var out []abi.Fact
	for _, f := range m.Launch.Facts {
		set := false
		for _, kv := range env {
			if v, ok := strings.CutPrefix(kv, f.Env+"="); ok && v != "" {
				set = true
			}
		}
		out = append(out, abi.Fact{Name: f.Name, Set: set})
	}
	return out
}

// onLaunched takes over what the launch made, or tells why it made nothing.
func (c *conversation) onLaunched(ctx context.Context, gen int64, l launched, settings abi.Settings, probe bool) {
	aborted := ctx.Err() != nil
	began := c.launch.began
	c.launch.cancel()
	c.launch = nil
	if l.err != nil || aborted {
		err := l.err
		var left *process.Process
		if l.proc != nil {
			if !c.discard(gen, l) {
				left = l.proc
			}
		}
		if aborted {
			err = &Error{Code: CodeStartAborted}
		}
		c.launchFailed(gen, began, err, left)
		return
	}
	s := &session{
		gen: gen, dir: l.dir, log: c.log.With("generation", gen), binding: l.binding, set: l.set, inst: l.inst, proc: l.proc,
		exited: l.proc.Done(), inputDone: make(chan struct{}), state: SessionStarting, slowAt: time.Now().Add(c.h.cfg.StartSlow),
		calls: map[string]*call{}, requests: map[string]*request{}, timers: map[string]time.Time{},
		background: map[string]runningItem{}, cardByOut: map[uint64]string{}, turnByOut: map[uint64]string{}, seen: map[string]bool{},
		secrets: newSecretBox(), watch: c.watchSession(began),
	}
	s.validator = &validator{}
	s.validator.use(l.set.For(""))
	m := l.binding.info.Manifest
	s.launchArgs = permissionArgs(m, settings.Permission)
	s.conn = transport.Start(transport.Config{
		R: l.proc.Stdout(), W: l.proc.Stdin(), MaxLine: c.h.cfg.MaxLine, Window: window,
		Inspect: s.validator.inspect,
		Scrub:   s.secrets.scrub,
		Expand:  func(b []byte) ([]byte, error) { return c.h.expand(c.ctx, s.secrets, b) },
		OnWritten: func(id uint64, err error) {
			c.tell(func() {
				if c.sess == s {
					c.written(s, id, err)
				}
			})
		},
	})
	s.recv = s.conn.Recv()
	c.sess = s
	c.observed, c.catalog = nil, nil
	native, used := c.row.NativeSession, c.row.NativeUsed
	if err := c.collectUnsettled(); err != nil {
		s.log.Error("unsettled turns could not be read", "error", err)
	}
	open := &abi.Open{
		Generation: gen, Cwd: l.dir.cwd, NativeSession: native, Used: used, Probe: probe,
		Client: c.h.cfg.Client, Settings: settings,
	}
	if native != "" {
		open.Own = c.ownValues()
	}
	env, _ := c.h.env.get(c.ctx)
	open.Facts = facts(m, env)
	for _, t := range c.unsettled {
		open.Unsettled = append(open.Unsettled, t.ClientID)
	}
	s.openedAs = *open
	s.row = store.Generation{
		ConversationID: c.id, Number: gen, PID: int64(l.proc.PID()), PIDStart: l.proc.StartTime(),
		BindingDigest: l.binding.info.Digest, BindingVersion: m.BindingVersion, NativeSession: native, StartedAt: c.h.now(),
	}
	s.log.Debug("the harness runs", "pid", l.proc.PID(), "binding", l.binding.info.Digest)
	c.saveGeneration(s)
	c.journalSession()
	c.dropOldSessions(gen)
	// The process id must be durable before the child is given anything to do.
	c.commit()
	c.step(&abi.Event{Open: open}, "")
}

// dropOldSessions forgets the input logs of generations that are over. The newest
// one of them is kept, so that what a binding failed on can be looked into.
func (c *conversation) dropOldSessions(gen int64) {
	c.h.store.Submit(func(tx *store.Tx) error { return tx.DropSessions(c.ctx, c.id, gen-1) })
}

func (c *conversation) saveGeneration(s *session) {
	row := s.row
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateGeneration(ctx, row) })
}

// discard ends a process that came too late to be wanted.
func (c *conversation) discard(gen int64, l launched) (ended bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.h.cfg.EndGrace+5*time.Second)
	defer cancel()
	err := c.h.cfg.end(ctx, l.proc, c.h.cfg.EndGrace)
	if err != nil {
		c.log.Error("an aborted harness could not be ended", "generation", gen, "pid", l.proc.PID(), "error", err)
	}
	_ = l.inst.Close(ctx)
	l.binding.release(c.h.cfg.IdleSession)
	return err == nil
}

// launchFailed ends a generation that never came to life. A process that is left of
// it keeps its row open, so that nothing is started before its exit is proven
// (rule 21).
func (c *conversation) launchFailed(gen int64, began time.Time, err error, left *process.Process) {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Code: CodeLaunchFailed, Detail: sentence(err.Error()), Err: err}
	}
	if c.closing {
		e = &Error{Code: c.closeHold}
	}
	// Detail can hold what the harness printed.
	c.log.Info("no session was started", "generation", gen, "code", string(e.Code))
	c.watchNoStart(began, gen, e.Code)
	exit := mustJSON(exitRecord{Code: string(e.Code)})
	row := store.Generation{ConversationID: c.id, Number: gen, StartedAt: c.h.now(), ExitedAt: c.h.now(), Exit: exit}
	if left != nil {
		row.PID, row.PIDStart, row.ExitedAt = int64(left.PID()), left.StartTime(), time.Time{}
	}
	if e.Code == CodeExitUnproven {
		// Nothing was spawned in this generation; the earlier one stays open.
		c.log.Warn("the previous process may still run", "generation", gen, "error", e)
	}
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateGeneration(ctx, row) })
	// The cause comes before what follows from it, for who reads the journal.
	if e.Code != CodeStartAborted && !c.closing {
		c.setProblem(abi.Problem{Code: string(e.Code), Field: "session", Message: e.Error(), Needs: abi.NeedsNothing})
	}
	if e.Code != CodeStartAborted {
		// An abort held the queue when it was asked for; a person may have sent since.
		c.hold(e.Code)
	}
	c.journalSession()
	c.startForNext(gen, e)
	c.tx.urgent = true
}

// exitRecord is what a generation's row keeps of its end.
type exitRecord struct {
	Code   string `json:"code,omitempty"`
	Status int    `json:"status"`
	Signal string `json:"signal,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// startIsSlow says that a start takes long; it goes on (rule 22). Before there is a
// process it is our own preparation that takes the time. What was told already is not
// told again.
func (c *conversation) startIsSlow(running bool, printed string) {
	e := fail(CodeStartSlow, "It is still being prepared: its binding is compiled or its environment looked up.")
	if err := c.h.driftError(c.id); err != nil && !running {
		e.Detail = err.Detail
	}
	if running {
		e.Detail = "Its process runs."
		if printed = tail(printed, 2000); printed != "" {
			e.Detail = sentence("It printed: " + printed)
		}
	}
	c.setProblem(abi.Problem{Code: string(CodeStartSlow), Field: "session", Message: e.Error()})
	c.tx.urgent = true
}

func tail(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) > n {
		s = s[len(s)-n:]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// endProcess ends the child on purpose; the rest happens when its exit is seen.
func (c *conversation) endProcess(reason string) {
	s := c.sess
	if s == nil || s.ending != "" {
		return
	}
	s.ending = reason
	s.state = SessionStopping
	c.journalSession()
	c.commit()
	c.endNow(s)
}

// endNow is endProcess without recording that it was decided.
func (c *conversation) endNow(s *session) {
	if s.endBegun {
		return
	}
	s.endBegun = true
	s.conn.CloseWrite()
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.h.cfg.EndGrace+10*time.Second)
		defer cancel()
		if err := s.proc.End(ctx, c.h.cfg.EndGrace); err != nil {
			s.log.Error("the harness could not be ended", "pid", s.proc.PID(), "error", err)
		}
		// A grandchild may keep the pipe open; reading ends here all the same.
		s.conn.Close()
	}()
}

// inputGrace is how long a child that closed its output may take to exit, and
// how long output may stay open after the exit although nothing more comes.
const inputGrace = time.Second

// afterExit bounds what is read of an exited child, in bytes besides a line: what a pipe
// may hold, and a read that is under way. What comes after that is printed by something
// that has outlived it.
const afterExit = 2 << 20

// inputLost deals with a frame that could not be written: what follows it would
// reach a child that misses it, and its answer never comes. A child that does not
// exit by itself is ended.
func (c *conversation) inputLost(s *session) {
	if s.inputLost {
		return
	}
	s.inputLost = true
	c.endIfAlive(s, "input_closed")
}

// endIfAlive ends a child whose pipe is gone, unless it is about to exit.
func (c *conversation) endIfAlive(s *session, why string) {
	time.AfterFunc(inputGrace, func() {
		c.tell(func() {
			if c.sess == s && s.exited != nil {
				c.endProcess(why)
			}
		})
	})
}

// inputEnded notes that the pipe is closed; that is not an exit (rule 21). A
// child that stays can say nothing more, so it is ended.
func (c *conversation) inputEnded() {
	s := c.sess
	s.recv = nil
	close(s.inputDone)
	c.endIfAlive(s, "output_closed")
}

// reap sees to it that nothing of the exited process is left and that what it
// printed was read, and then settles what depended on it.
func (c *conversation) reap(s *session) {
	go func() {
		if err := s.proc.End(context.WithoutCancel(c.ctx), c.h.cfg.EndGrace); err != nil {
			s.log.Error("processes of the harness are left", "pid", s.proc.PID(), "error", err)
		}
		c.readOut(s)
		s.conn.Close()
		c.tell(func() { c.exited(s) })
	}()
}

// readOut waits until what an exited child printed was read and committed, however long
// that takes on a busy machine or a slow disk. Something outside of the group may keep
// the pipe open: then it is enough that nothing more comes, or that what was read until
// a read emptied the pipe, or got more than can be the child's, is committed.
func (c *conversation) readOut(s *session) {
	const look = inputGrace / 2
	exit, enough := s.conn.Progress(), int64(math.MaxInt64)
	timer := time.NewTimer(look)
	defer timer.Stop()
	for quiet := 0; quiet < 2; timer.Reset(look) {
		select {
		case <-s.inputDone:
			return
		case <-c.giveUp:
			// Nothing is committed any more.
			return
		case <-timer.C:
		}
		p := s.conn.Progress()
		if p.Emptied > exit.Reads || p.Bytes-exit.Bytes > afterExit+int64(c.h.cfg.MaxLine) {
			enough = min(enough, p.Taken)
		}
		if p.Acked >= enough {
			return
		}
		if quiet++; !p.Idle() {
			quiet = 0
		}
	}
}

// exited settles everything that depended on the process.
func (c *conversation) exited(s *session) {
	exit := s.proc.Exit()
	if s.ending != string(CodeBindingFault) {
		c.step(&abi.Event{Exited: &abi.Exited{Code: int64(exit.Code), Signal: exit.Signal}}, "")
	}
	stderr := tail(string(s.secrets.scrubText([]byte(s.proc.Stderr()))), 4000)
	rec := exitRecord{Code: s.ending, Status: exit.Code, Signal: exit.Signal, Stderr: stderr}
	s.row.ExitedAt, s.row.Exit = c.h.now(), mustJSON(rec)
	c.saveGeneration(s)
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.DropOutbox(ctx, c.id, s.gen, s.outSeq) })
	cause := exitCause(s, exit, stderr)
	if s.watch != nil && s.watch.ready.IsZero() {
		c.watchNoStart(s.watch.began, s.gen, cause.Code)
	}
	s.log.Info("the session ended", "pid", s.proc.PID(), "cause", string(cause.Code), "status", exit.Code, "signal", exit.Signal)
	c.settleAfterExit(s, cause)
	_ = s.inst.Close(c.ctx)
	s.binding.release(c.h.cfg.IdleSession)
	c.sess = nil
	c.stop = nil
	c.observed, c.catalog = nil, nil
	c.caps = abi.Capabilities{}
	c.journalSession()
	c.probeNext(s, cause)
	c.tx.urgent = true
}

// exitCause says why a session ended, for the turns that ended with it.
func exitCause(s *session, exit process.Exit, stderr string) *Error {
	switch s.ending {
	case string(CodeBindingFault):
		return &Error{Code: CodeBindingFault}
	case string(CodeNativeSessionTaken), string(CodeStoreFailed), string(CodeSignInNeeded):
		return &Error{Code: Code(s.ending)}
	case "stop", "closed", endingRelaunch, endingIdle:
		return &Error{Code: CodeHoldStopped}
	}
	how := "with status " + strconv.Itoa(exit.Code)
	if exit.Signal != "" {
		how = "by signal " + exit.Signal
	}
	switch s.ending {
	case "output_closed":
		how = "after closing its output, " + how
	case "input_closed":
		how = "after its input could not be written, " + how
	}
	e := fail(CodeHarnessExited, "The harness ended %s.", how)
	if stderr != "" {
		e.Detail += " It printed: " + sentence(stderr)
	}
	return e
}

// processError maps errors of the supervisor to ours.
func processError(err error) error {
	if err == nil {
		return nil
	}
	var pe *process.Error
	if errors.As(err, &pe) {
		code := Code(pe.Code)
		if codeTexts[code] == "" {
			code = CodeLaunchFailed
		}
		return &Error{Code: code, Detail: sentence(pe.Message), Err: err, complete: true}
	}
	return &Error{Code: CodeLaunchFailed, Detail: sentence(err.Error()), Err: err}
}

// proveExits makes sure that no earlier process of the conversation is left
// (rules 21, 21a): what is left of a crashed host's child is ended first.
func (h *Host) proveExits(ctx context.Context, conv string) error {
	if err := h.driftError(conv); err != nil {
		return err
	}
	open, err := h.store.OpenGenerations(ctx)
	if err != nil {
		return storeError(err)
	}
	for _, g := range open {
		if g.ConversationID != conv || g.PID == 0 {
			continue
		}
		if c := h.peek(conv); c != nil && c.ownsPID(int(g.PID)) {
			continue
		}
		if err := process.EndOrphan(ctx, int(g.PID), g.PIDStart, h.cfg.EndGrace); err != nil {
			return &Error{Code: CodeExitUnproven, Detail: "Process " + strconv.FormatInt(g.PID, 10) + " could not be proven to be gone: " + sentence(err.Error()), Err: err}
		}
		g.ExitedAt = h.now()
		g.Exit = mustJSON(exitRecord{Code: "host_restarted"})
		if err := h.store.Write(ctx, func(tx *store.Tx) error { return tx.UpdateGeneration(ctx, g) }); err != nil {
			return storeError(err)
		}
	}
	return nil
}

// ownsPID reports whether pid is a child of this very process.
func (c *conversation) ownsPID(pid int) bool {
	v := c.view.Load()
	return v != nil && v.Session.PID == pid
}

// launchEnv is the environment harnesses start from: the one configured, or the
// login shell's, resolved once.
type launchEnv struct {
	fixed []string
	login *process.Login
	log   *slog.Logger
	once  sync.Once
}

const loginEnvTimeout = 5 * time.Second

func newLaunchEnv(cfg Config) *launchEnv {
	return &launchEnv{fixed: cfg.Env, login: process.NewLogin(os.Getenv("SHELL"), cfg.login), log: cfg.Logger}
}

func (e *launchEnv) get(ctx context.Context) ([]string, error) {
	if e.fixed != nil {
		return e.fixed, nil
	}
	env, err := e.login.Env(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		e.once.Do(func() { e.log.Warn("the login shell's environment is not known", "error", err) })
	}
	return env, nil
}
