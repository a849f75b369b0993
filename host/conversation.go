package host

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// conversation is the one goroutine that owns a conversation: its queue, its
// cards and, while there is one, its live session. Everything reaches it as a
// message, so there is one order (DESIGN §6).
type conversation struct {
	h   *Host
	id  string
	log *slog.Logger
	// ctx ends when the host gives up on writing; sealed transactions use it.
	ctx    context.Context
	cancel context.CancelFunc

	urgent chan clientRequest
	inbox  chan clientRequest
	told   mailbox
	done   chan struct{}
	// giveUp is closed when a close may wait no longer for the store.
	giveUp chan struct{}

	// What follows is owned by the goroutine.
	row      store.Conversation
	settings abi.Settings
	live     []*turn
	cards    map[string]*card
	plans    map[string]*plan
	running  *turn
	sess     *session
	launch   *launching
	stop     *stopping
	catalog  *abi.Catalog
	observed *abi.Observed
	caps     abi.Capabilities
	problems []abi.Problem
	usage    UsageView
	// unsettled are the turns whose delivery is uncertain and could be settled.
	unsettled []*turn
	// holdUnsettled: the queue waits for them, because the host has just
	// recovered from a crash and no person has acted on it.
	holdUnsettled bool
	// expiring is the native session whose follow-ups expire at this moment.
	expiring string
	probes   []probe
	partials map[string]*partial
	// partialBytes is the text in partials, partialSeq numbers them.
	partialBytes int
	partialSeq   uint64
	sparePartial []byte
	// blocked: the last attempt failed, so nothing is started until a person
	// does something; unlike a hold it also keeps answers back.
	blocked   bool
	blockedBy Code
	// givenUp counts the transactions that could never succeed, see broken.
	givenUp int
	// trouble is why the store takes nothing at the moment, nil while it does.
	trouble error
	// served is the client request that is being carried out, nil between two and once
	// it was told of the trouble.
	served *served
	// stale is why what is remembered here is not what the store holds, nil while it
	// is, see refresh.
	stale error
	// lastMode is the mode of the newest turn that ran, if it was completed.
	lastMode string
	// lastActive is when something happened last.
	lastActive time.Time
	// dirty: what Controls shows has changed.
	dirty   bool
	closing bool
	// closeHold is why the queue waits after closing.
	closeHold Code
	quit      bool
	// erasing is set once the conversation is to be deleted; read by any goroutine.
	erasing atomic.Pointer[erasure]

	tx pending
	// spareInputs is the input buffer of a committed transaction.
	spareInputs []byte
	inflight    *inflight
	flushAt     time.Time

	view  atomic.Pointer[Controls]
	shown atomic.Uint64
}

// inflight is the one streaming transaction that is being committed.
type inflight struct {
	fn    func(*store.Tx) error
	p     *store.Pending
	after []func()
}

// turn is a live submission.
type turn struct {
	store.Turn
	settings abi.Settings
	content  []abi.Content
	// claimed: handed to the binding, no frame that carries it committed yet.
	claimed bool
	// outID is the outbox id of the frame that carries it.
	outID uint64
	// notWritten: the pipe proved that frame was never written.
	notWritten bool
	// steerOf is the running turn a native steer goes into, under whose settings it runs
	// there; its own are those of the ordinary message that it is otherwise.
	steerOf *turn
	// steerDue is until when a native steer waits for its answer, zero while the turn that
	// it goes into runs.
	steerDue time.Time
	// goesOn is what it works under since its own plan review was approved, nil before.
	goesOn *abi.Settings
	// watch is its trace while the binding has it, nil without tracing; links name
	// the requests that made it.
	watch *turnWatch
	links []trace.Link
}

func loadConversation(ctx context.Context, h *Host, id string) (*conversation, error) {
	c := &conversation{
		h: h, id: id, log: h.logger(id),
		urgent: make(chan clientRequest, 16), inbox: make(chan clientRequest, 64),
		done: make(chan struct{}), giveUp: make(chan struct{}), told: mailbox{wake: make(chan struct{}, 1)},
		partials: map[string]*partial{}, dirty: true,
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if err := c.reload(ctx); err != nil {
		c.cancel()
		return nil, notFound(err, CodeUnknownConversation, "conversation", id)
	}
	c.publish()
	return c, nil
}

// reload takes the durable state from the store, at the start and when a change
// could not be committed.
func (c *conversation) reload(ctx context.Context) error {
	row, err := c.h.store.Conversation(ctx, c.id)
	if err != nil {
		return err
	}
	turns, err := c.h.store.LiveTurns(ctx, c.id)
	if err != nil {
		return err
	}
	cards, err := c.h.store.Interactions(ctx, c.id, true)
	if err != nil {
		return err
	}
	plans, err := c.h.store.Proposals(ctx, c.id)
	if err != nil {
		return err
	}
	// Nothing is taken over before all of it could be read.
	var settings abi.Settings
	if len(row.Settings) > 0 {
		if err := json.Unmarshal(row.Settings, &settings); err != nil {
			return fail(CodeStoreCorrupt, "The settings of conversation %s cannot be read: %v.", c.id, err)
		}
	}
	old := map[string]*turn{}
	for _, t := range c.live {
		old[t.ID] = t
	}
	var live []*turn
	var running *turn
	for _, r := range turns {
		t, err := newTurn(r)
		if err != nil {
			return err
		}
		if o := old[r.ID]; o != nil {
			t.claimed, t.outID, t.notWritten, t.steerOf = o.claimed, o.outID, o.notWritten, o.steerOf
			t.steerDue, t.goesOn, t.watch, t.links = o.steerDue, o.goesOn, o.watch, o.links
		}
		live = append(live, t)
		if t.steerOf == nil && (t.State == store.TurnDispatched || t.State == store.TurnRunning || t.claimed) {
			running = t
		}
	}
	asked := map[string]*card{}
	for _, r := range cards {
		k := &card{Interaction: r}
		if err := json.Unmarshal(r.Body, &k.ask); err != nil {
			return fail(CodeStoreCorrupt, "Card %s cannot be read: %v.", r.ID, err)
		}
		if o := c.cards[r.ID]; o != nil {
			k.longKey, k.outID, k.notWritten, k.maybeWritten = o.longKey, o.outID, o.notWritten, o.maybeWritten
		}
		asked[r.ID] = k
	}
	offered := map[string]*plan{}
	for _, r := range plans {
		if r.State != store.ProposalOpen {
			continue
		}
		p := &plan{Proposal: r}
		if err := json.Unmarshal(r.Body, &p.body); err != nil {
			return fail(CodeStoreCorrupt, "Plan %s cannot be read: %v.", r.ID, err)
		}
		offered[r.ID] = p
	}
	c.row, c.settings, c.live, c.running, c.cards, c.plans = row, settings, live, running, asked, offered
	c.sortQueue()
	return nil
}

func newTurn(r store.Turn) (*turn, error) {
	t := &turn{Turn: r}
	if err := json.Unmarshal(r.Settings, &t.settings); err != nil {
		return nil, fail(CodeStoreCorrupt, "The settings of turn %s cannot be read: %v.", r.ID, err)
	}
	if err := json.Unmarshal(r.Content, &t.content); err != nil {
		return nil, fail(CodeStoreCorrupt, "The content of turn %s cannot be read: %v.", r.ID, err)
	}
	return t, nil
}

// clientRequest is something a client wants done on the conversation's goroutine;
// refuse answers it without doing it.
type clientRequest struct {
	do     func()
	refuse func(error)
}

// served is a request under way.
type served struct {
	refuse func(error)
	// stops: it is a stop, which ends the process where it cannot be recorded.
	stops bool
}

// ask runs fn on the conversation's goroutine and waits for what it returns.
// When ctx ends first, fn may still run: what it accepts is then found by its
// client id.
func ask[T any](ctx context.Context, c *conversation, fn func() (T, error)) (T, error) {
	return post(ctx, c, c.inbox, false, fn)
}

// askUrgent is ask past the queue of other requests, for stop.
func askUrgent[T any](ctx context.Context, c *conversation, fn func() (T, error)) (T, error) {
	return post(ctx, c, c.urgent, true, fn)
}

// post hands over fn and takes its result through a channel alone: fn may run
// when its caller has long gone.
func post[T any](ctx context.Context, c *conversation, box chan clientRequest, stops bool, fn func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
		// erasing is the deletion that came before.
		erasing *erasure
	}
	var none T
	res := make(chan result, 1)
	q := clientRequest{
		do: func() {
			if e := c.erasing.Load(); e != nil {
				res <- result{erasing: e}
				return
			}
			s := &served{refuse: func(err error) { res <- result{err: err} }, stops: stops}
			c.served = s
			v, err := fn()
			if c.served != s {
				return // it was refused meanwhile
			}
			c.served = nil
			// Who is answered sees what the answer says.
			c.publish()
			res <- result{v: v, err: err}
		},
		refuse: func(err error) { res <- result{err: err} },
	}
	answer := func(r result) (T, error) {
		if r.erasing != nil {
			return none, r.erasing.overtook(ctx)
		}
		return r.v, r.err
	}
	select {
	case box <- q:
	case <-c.done:
		return none, c.ended(ctx)
	case <-ctx.Done():
		return none, ctx.Err()
	}
	select {
	case r := <-res:
		return answer(r)
	case <-c.done:
		select {
		case r := <-res:
			return answer(r)
		default:
			return none, c.ended(ctx)
		}
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// tell posts fn from another goroutine of ours. It never blocks: the goroutine
// may be one that the conversation waits for.
func (c *conversation) tell(fn func()) { c.told.put(fn) }

// mailbox is an unbounded queue of messages from our own goroutines, whose
// number is bounded by what is in flight.
type mailbox struct {
	mu   sync.Mutex
	fns  []func()
	wake chan struct{}
}

func (m *mailbox) put(fn func()) {
	m.mu.Lock()
	m.fns = append(m.fns, fn)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	fns := m.fns
	m.fns = nil
	return fns
}

const (
	maxBatchRows  = 200
	maxBatchBytes = 1 << 20
	maxBatchWait  = 20 * time.Millisecond
)

func (c *conversation) run() {
	defer close(c.done)
	defer c.cancel()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if c.settle(); c.quit {
			return
		}
		timer.Reset(c.nextWake())
		// Stop and the like come before everything else that waits.
		select {
		case q := <-c.urgent:
			c.awake()
			q.do()
			continue
		default:
		}
		var recv <-chan []frame
		var exited <-chan struct{}
		if c.sess != nil {
			recv, exited = c.sess.recv, c.sess.exited
		}
		var committed <-chan struct{}
		if c.inflight != nil {
			committed = c.inflight.p.Done()
		}
		select {
		case q := <-c.urgent:
			q.do()
		case <-c.told.wake:
			for _, fn := range c.told.take() {
				fn()
			}
		case q := <-c.inbox:
			q.do()
		case frames, ok := <-recv:
			if !ok {
				c.inputEnded()
				continue
			}
			c.frames(frames)
		case <-exited:
			c.sess.exited = nil
			c.reap(c.sess)
		case <-committed:
			c.finishInflight()
		case <-timer.C:
			c.tick()
			continue
		}
		c.awake()
	}
}

// settle brings the state to rest after each message: commits what must be, and
// starts what can be.
func (c *conversation) settle() {
	if c.stale != nil {
		c.recall()
	}
	if c.closing {
		c.closeStep()
	}
	c.pump()
	if c.tx.urgent {
		c.commit()
		// A commit may have made the next dispatch possible.
		if c.pump() {
			c.commit()
		}
	}
	c.maybeFlush()
	c.publish()
}

// maybeFlush commits streaming rows by the bound on rows or time.
func (c *conversation) maybeFlush() {
	if c.stale != nil {
		c.tx = pending{}
	}
	if c.tx.empty() {
		c.flushAt = time.Time{}
		return
	}
	if c.flushAt.IsZero() {
		c.flushAt = time.Now().Add(maxBatchWait)
	}
	if c.inflight == nil && (c.tx.full(1) || !time.Now().Before(c.flushAt)) {
		fn, after := c.seal()
		c.inflight = &inflight{fn: fn, after: after, p: c.h.store.SubmitNow(fn)}
		c.flushAt = time.Time{}
	} else if c.inflight != nil && c.tx.full(4) {
		// The disk is slower than the child: wait, which slows the reader down.
		c.finishInflight()
	}
}

// finishInflight waits for the streaming transaction that is under way.
func (c *conversation) finishInflight() {
	if c.inflight == nil {
		return
	}
	f := c.inflight
	c.inflight = nil
	if err := f.p.Wait(c.ctx); err != nil && !c.persist(f.fn, err) {
		return
	}
	for _, fn := range f.after {
		fn()
	}
}

// commit commits everything gathered and then does what waited for it.
func (c *conversation) commit() {
	c.finishInflight()
	if c.stale != nil {
		// Given up at close: what follows from a wrong memory is not written down.
		c.tx = pending{}
	}
	if c.tx.empty() {
		c.tx.urgent = false
		return
	}
	fn, after := c.seal()
	c.flushAt = time.Time{}
	if err := c.h.store.Write(c.ctx, fn); err != nil && !c.persist(fn, err) {
		return
	}
	for _, f := range after {
		f()
	}
}

// persist repeats a transaction of steps until it is committed: the child has
// gone on, so there is no way back, and nothing further is taken from it
// meanwhile (D5). Requests of clients fail with the store's error instead, also the
// one that is under way, a stop ends the process, and a deletion is called off. It
// reports whether the transaction was committed; one that is given up was never
// acknowledged, so nothing that follows from it may happen either (rule 19).
func (c *conversation) persist(fn func(*store.Tx) error, err error) bool {
	if !lasting(err) {
		c.broken(err)
		return false
	}
	c.setProblem(abi.Problem{Code: string(CodeOf(storeError(err))), Field: "store", Message: err.Error()})
	c.publish()
	wait := 10 * time.Millisecond
	retry := time.NewTimer(wait)
	defer retry.Stop()
	for {
		c.trouble = storeError(err)
		c.tellTrouble()
		select {
		case q := <-c.inbox:
			q.refuse(c.trouble)
			continue
		case q := <-c.urgent:
			q.do()
			continue
		case <-retry.C:
		case <-c.giveUp:
			c.log.Error("uncommitted steps were given up at close", "error", err)
			return false
		case <-c.ctx.Done():
			c.log.Error("uncommitted steps were given up at close", "error", err)
			return false
		}
		if err = c.h.store.Write(c.ctx, fn); err == nil {
			break
		}
		wait = min(2*wait, time.Second)
		retry.Reset(wait)
	}
	c.trouble = nil
	c.dropProblems("store")
	return true
}

// tellTrouble refuses the request under way and calls a deletion off: they must not
// wait for room on the disk, which nobody may know is wanted.
func (c *conversation) tellTrouble() {
	if q := c.served; q != nil {
		c.served = nil
		if q.stops {
			_ = c.stopUnrecorded(CodeHoldStopped)
		}
		q.refuse(c.trouble)
	}
	if e := c.erasing.Load(); e != nil {
		c.callOff(e)
	}
}

// lasting reports whether a failed write may succeed later as it stands: the disk
// can get room, a row that contradicts another one cannot.
func lasting(err error) bool {
	switch store.CodeOf(err) {
	case store.CodeFull, store.CodeReadOnly, store.CodeFailed, store.CodeBusy, store.CodeLocked, "":
		return true
	}
	return false
}

// broken gives up a transaction that can never succeed: the process is ended and
// the durable state is what counts.
func (c *conversation) broken(err error) {
	c.log.Error("a step could not be recorded and was given up", "error", err)
	c.givenUp++
	if c.refresh(c.ctx); c.stale != nil {
		c.recall()
	}
	c.setProblem(abi.Problem{Code: string(CodeStoreFailed), Field: "session", Message: err.Error()})
	if s := c.sess; s != nil && s.ending == "" {
		s.ending, s.state = string(CodeStoreFailed), SessionStopping
		c.endNow(s)
	}
	// An item whose end was given up with the rest has not ended. What came after it is
	// recorded first, so that the journal has all of it.
	c.commit()
	if err := c.recallPartials(c.ctx); err != nil {
		c.log.Error("the text of unfinished items could not be read again", "error", err)
	}
}

// transact runs a client's request as one transaction of its own. On failure
// nothing of it is kept.
func (c *conversation) transact(ctx context.Context, change func() error) error {
	if err := c.recorded(); err != nil {
		return err
	}
	if err := change(); err != nil {
		c.tx = pending{}
		return c.restore(ctx, err)
	}
	if c.tx.empty() {
		return nil
	}
	if err := ctx.Err(); err != nil {
		c.tx = pending{}
		return c.restore(ctx, err)
	}
	fn, after := c.seal()
	// Not with the caller's context: a caller that gives up now could not tell, and
	// neither could we, whether this was committed.
	if err := c.h.store.Write(c.ctx, fn); err != nil {
		if c.ctx.Err() != nil {
			// Not the caller's: the host closes and waited for this long enough.
			err = &Error{Code: CodeClosed}
		}
		return c.restore(ctx, storeError(err))
	}
	for _, f := range after {
		f()
	}
	return nil
}

// recorded commits what came before a client's request. It is an error where the
// request can do nothing any more.
func (c *conversation) recorded() error {
	given, served := c.givenUp, c.served
	if c.commit(); c.trouble != nil {
		return c.trouble
	}
	if c.givenUp != given {
		// What the request looked at has been read anew since.
		return fail(CodeStoreFailed, "What happened just before could not be recorded. Read the conversation again.")
	}
	if c.served != served {
		// There was no room for a while, and who asked was told.
		return fail(CodeStoreFailed, "The request was refused already.")
	}
	return nil
}

// restore forgets the unfinished change of a failed request.
func (c *conversation) restore(ctx context.Context, cause error) error {
	c.refresh(context.WithoutCancel(ctx))
	return cause
}

// nextWake is the time until the next deadline.
func (c *conversation) nextWake() time.Duration {
	next := time.Hour
	at := func(t time.Time) {
		if !t.IsZero() {
			next = min(next, max(0, time.Until(t)))
		}
	}
	if c.inflight == nil {
		at(c.flushAt)
	}
	if c.stop != nil {
		at(c.stop.deadline)
	}
	if c.launch != nil {
		at(c.launch.slowAt)
		at(c.launch.adriftAt)
	}
	if s := c.sess; s != nil {
		at(c.idleDeadline())
		at(s.slowAt)
		at(s.agentStop)
		for _, t := range s.timers {
			at(t)
		}
		for _, k := range s.calls {
			at(k.deadline)
		}
		for _, t := range c.live {
			at(t.steerDue)
		}
	}
	return next
}

// tick does what is due.
func (c *conversation) tick() {
	now := time.Now()
	due := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	if c.stop != nil && due(c.stop.deadline) {
		c.stopOverdue()
	}
	if c.launch != nil && due(c.launch.slowAt) {
		c.launch.slowAt = time.Time{}
		c.startIsSlow(false, "")
	}
	if c.launch != nil && due(c.launch.adriftAt) {
		c.setAdrift()
	}
	s := c.sess
	if s == nil {
		return
	}
	if due(c.idleDeadline()) {
		c.rest()
		return
	}
	if due(s.slowAt) {
		s.slowAt = time.Time{}
		if s.state == SessionStarting {
			c.startIsSlow(true, s.proc.Stderr())
			// What it prints later may say what it waits for, such as a sign-in.
			s.slowAt = now.Add(c.h.cfg.StartSlow)
		}
	}
	if due(s.agentStop) {
		c.agentOverdue(s)
	}
	for _, name := range sortedKeys(s.timers) {
		if t, ok := s.timers[name]; ok && due(t) {
			c.fireTimer(name)
		}
	}
	for _, id := range sortedKeys(s.calls) {
		if k := s.calls[id]; k != nil && due(k.deadline) {
			c.failCall(id, "timeout", noAnswer)
		}
	}
	for _, t := range slices.Clone(c.live) {
		if due(t.steerDue) {
			c.steerUnanswered(s, t)
		}
	}
}

// noAnswer is why a call failed whose time is over.
const noAnswer = "The harness did not answer in time."

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// notFound maps a missing row to a code and any other store error as usual.
func notFound(err error, code Code, field, id string) error {
	if isNotFound(err) {
		return failField(code, field, "%q is not known.", id)
	}
	return storeError(err)
}

// now is the injected clock's time.
func (h *Host) now() time.Time { return h.cfg.Clock() }
