package host

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host/internal/process"
	"github.com/aoagents/ao-host/store"
)

func timePtr(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// decodeOwn decodes JSON that this package wrote itself. What cannot be decoded
// is left zero: a view must not fail because of one damaged row.
func decodeOwn[T any](b []byte) (v T) {
	if len(b) > 0 {
		_ = json.Unmarshal(b, &v)
	}
	return v
}

func decodeOwnPtr[T any](b []byte) *T {
	if len(b) == 0 {
		return nil
	}
	v := decodeOwn[T](b)
	return &v
}

func turnView(r store.Turn) Turn {
	t := Turn{
		ID: r.ID, ClientID: r.ClientID, State: TurnState(r.State), Version: r.Version, Origin: abi.Origin(r.Origin),
		Settings: decodeOwn[abi.Settings](r.Settings), Revision: r.SettingsRev,
		Interaction: r.InteractionID, Proposal: r.ProposalID, RetryOf: r.RetryOf, Reply: decodeOwnPtr[abi.Reply](r.Reply),
		Evidence: r.Evidence, StopReason: r.StopReason, Code: r.ErrorCode, Message: r.ErrorMessage,
		AcceptedAt: r.AcceptedAt, StartedAt: timePtr(r.StartedAt), EndedAt: timePtr(r.EndedAt),
	}
	for _, b := range decodeOwn[[]abi.Content](r.Content) {
		t.Content = append(t.Content, Content{Type: b.Type, Text: b.Text, Media: b.Media, Name: b.Name, Digest: b.Digest})
	}
	return t
}

func interactionView(r store.Interaction) Interaction {
	return Interaction{
		ID: r.ID, State: InteractionState(r.State), Turn: r.TurnID, Generation: r.Generation, Ask: decodeOwn[abi.Interaction](r.Body),
		Disposition: abi.Disposition(r.Disposition), Reply: decodeOwnPtr[abi.Reply](r.Reply), AnswerTurn: r.AnswerTurnID,
		Automatic: r.Automatic, OpenedAt: r.OpenedAt, ClosedAt: timePtr(r.ClosedAt),
	}
}

func proposalView(r store.Proposal) Proposal {
	body := decodeOwn[abi.Proposal](r.Body)
	return Proposal{
		ID: r.ID, Revision: r.Revision, State: ProposalState(r.State), Turn: r.TurnID, Text: body.Text, Route: body.Route,
		Interaction: r.InteractionID, Continuation: r.ContinuationID, OpenedAt: r.OpenedAt, ClosedAt: timePtr(r.ClosedAt),
	}
}

func conversationView(r store.Conversation, queue Queue) Conversation {
	return Conversation{
		ID: r.ID, Harness: r.Harness, Cwd: r.Cwd, Title: r.Title, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Settings: decodeOwn[abi.Settings](r.Settings), Revision: r.SettingsRev, NativeSession: r.NativeSession, LastSeq: r.LastSeq, JournalFloor: r.JournalFloor, Queue: queue,
	}
}

func (c *conversation) queueView() Queue {
	q := Queue{Held: c.row.Held, Reason: Code(c.row.HoldReason)}
	for _, t := range c.live {
		if t.State == store.TurnQueued && t != c.running && t.steerOf == nil {
			q.Turns = append(q.Turns, t.ID)
		}
	}
	return q
}

func (c *conversation) sessionView() Session {
	v := Session{State: SessionNone, Generation: c.row.Generation, NativeSession: c.row.NativeSession, Capabilities: c.caps}
	if c.launch != nil {
		v.State = SessionStarting
	}
	if s := c.sess; s != nil {
		v.State, v.PID, v.ProviderVersion = s.state, s.proc.PID(), s.version
		v.BindingVersion = s.binding.info.Manifest.BindingVersion
	}
	return v
}

// publish makes what Controls shows visible to readers, if it has changed. All that
// was committed before is in it: a step changes the state before its rows are sealed.
func (c *conversation) publish() {
	defer c.shown.Store(c.h.feed.newest(c.id))
	if !c.dirty {
		return
	}
	if c.stale != nil {
		// The last view that held, with what is known beside the store.
		v := *c.view.Load()
		v.Session, v.Problems = c.sessionView(), slices.Clone(c.problems)
		c.view.Store(&v)
		return
	}
	c.dirty = false
	v := &Controls{
		Conversation: c.id, Settings: c.settings, Revision: c.row.SettingsRev, CatalogState: CatalogUnread,
		Catalog: c.catalog, Observed: c.observed, Session: c.sessionView(), Queue: c.queueView(), Problems: slices.Clone(c.problems),
		ContinueMode: c.continueMode(),
	}
	if c.catalog != nil {
		v.CatalogState = CatalogRead
	}
	if t := c.running; t != nil {
		v.Running = &RunningTurn{Turn: t.ID, State: TurnState(t.State), Settings: t.settings, Stopping: c.stop != nil && c.stop.turn == t.ID}
	}
	if len(c.usage.Gauges)+len(c.usage.Counters) > 0 {
		v.Usage = &UsageView{Gauges: slices.Clone(c.usage.Gauges), Counters: slices.Clone(c.usage.Counters)}
	}
	c.view.Store(v)
}

// freshControls bounds how long a reader waits for a view that is not older than
// the journal.
const freshControls = time.Second

// controls returns the newest view. Who has read an event of the journal is shown
// what followed from it, unless the conversation is held up, by a slow disk for
// example: then the view before it is better than none.
func (c *conversation) controls(ctx context.Context) Controls {
	if c.h.feed.newest(c.id) > c.shown.Load() {
		ctx, cancel := context.WithTimeout(ctx, c.h.cfg.fresh)
		defer cancel()
		_, _ = ask(ctx, c, func() (struct{}, error) { return struct{}{}, nil })
	}
	return *c.view.Load()
}

// controlsAfter answers a request that changed something with what it left, or
// with its error.
func (c *conversation) controlsAfter(err error) (Controls, error) {
	if err != nil {
		return Controls{}, err
	}
	c.publish()
	return *c.view.Load(), nil
}

// Controls returns what a client shows beside the composer. It never waits for
// the session, and is never older than an event that the caller has read.
func (h *Host) Controls(ctx context.Context, conversation string) (Controls, error) {
	if c := h.peek(conversation); c != nil {
		return c.controls(ctx), nil
	}
	row, err := h.store.Conversation(ctx, conversation)
	if err != nil {
		return Controls{}, notFound(err, CodeUnknownConversation, "conversation", conversation)
	}
	queue, err := h.queue(ctx, row)
	if err != nil {
		return Controls{}, err
	}
	return Controls{
		Conversation: row.ID, Settings: decodeOwn[abi.Settings](row.Settings), Revision: row.SettingsRev, CatalogState: CatalogUnread,
		Session: Session{State: SessionNone, Generation: row.Generation, NativeSession: row.NativeSession}, Queue: queue,
	}, nil
}

// queue reads the queue of a conversation that is at rest.
func (h *Host) queue(ctx context.Context, row store.Conversation) (Queue, error) {
	q := Queue{Held: row.Held, Reason: Code(row.HoldReason)}
	turns, err := h.store.LiveTurns(ctx, row.ID)
	if err != nil {
		return q, storeError(err)
	}
	slices.SortStableFunc(turns, runsBefore)
	for _, t := range turns {
		if t.State == store.TurnQueued {
			q.Turns = append(q.Turns, t.ID)
		}
	}
	return q, nil
}

// Create makes a conversation. The harness is not started.
//
// Errors: unknown_harness, working_directory_missing,
// working_directory_not_a_directory, unknown_permission, invalid_argument.
func (h *Host) Create(ctx context.Context, n NewConversation) (Conversation, error) {
	if n.ID != "" {
		if row, err := h.store.Conversation(ctx, n.ID); err == nil {
			return h.Conversation(ctx, row.ID)
		} else if !isNotFound(err) {
			return Conversation{}, storeError(err)
		}
	}
	if _, err := h.bindings.find(ctx, n.Harness); err != nil {
		return Conversation{}, err
	}
	real, err := checkDir(n.Cwd)
	if err != nil {
		return Conversation{}, err
	}
	settings, err := applyPatch(abi.Settings{}, n.Settings)
	if err != nil {
		return Conversation{}, err
	}
	now := h.now()
	row := store.Conversation{
		ID: n.ID, Harness: n.Harness, Cwd: filepath.Clean(n.Cwd), RealCwd: real, Title: n.Title, CreatedAt: now, UpdatedAt: now,
		Settings: mustJSON(settings), SettingsRev: 1,
	}
	if row.ID == "" {
		row.ID = h.cfg.IDs()
	}
	view := conversationView(row, Queue{})
	// What is left of a deleted conversation of this id goes first.
	if err := h.store.Removed(ctx, row.ID); err != nil {
		return Conversation{}, storeError(err)
	}
	err = h.store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Conversation(ctx, row.ID); err == nil {
			// Another client made it at the same time: the first one counts.
			return nil
		}
		if err := tx.InsertConversation(ctx, row); err != nil {
			return err
		}
		return tx.AppendEvent(ctx, &store.Event{ConversationID: row.ID, At: now, Type: string(EventConversationCreated), Body: mustJSON(view)})
	})
	if err != nil {
		return Conversation{}, storeError(err)
	}
	return h.Conversation(ctx, row.ID)
}

// checkDir checks a working directory and resolves its symbolic links, so that a
// later start notices when the name leads somewhere else (L3).
func checkDir(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", failField(CodeInvalidArgument, "cwd", "The working directory %q is not an absolute path.", dir)
	}
	real, err := process.RealDir(dir)
	var e *Error
	if err = processError(err); errors.As(err, &e) {
		e.Field = "cwd"
		return "", e
	}
	return real, nil
}

// Conversations lists all conversations, the newest first.
func (h *Host) Conversations(ctx context.Context) ([]Conversation, error) {
	rows, err := h.store.Conversations(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	out := make([]Conversation, 0, len(rows))
	for _, r := range rows {
		q, err := h.queue(ctx, r)
		if err != nil {
			return nil, err
		}
		out = append(out, conversationView(r, q))
	}
	return out, nil
}

// Conversation returns one conversation.
func (h *Host) Conversation(ctx context.Context, id string) (Conversation, error) {
	row, err := h.store.Conversation(ctx, id)
	if err != nil {
		return Conversation{}, notFound(err, CodeUnknownConversation, "conversation", id)
	}
	q, err := h.queue(ctx, row)
	return conversationView(row, q), err
}

// Turns lists the turns of a conversation in the order they were accepted, save
// those that MoveQueued put elsewhere.
func (h *Host) Turns(ctx context.Context, conversation string) ([]Turn, error) {
	if _, err := h.store.Conversation(ctx, conversation); err != nil {
		return nil, notFound(err, CodeUnknownConversation, "conversation", conversation)
	}
	rows, err := h.store.Turns(ctx, conversation)
	if err != nil {
		return nil, storeError(err)
	}
	out := make([]Turn, 0, len(rows))
	for _, r := range rows {
		out = append(out, turnView(r))
	}
	return out, nil
}

// Turn returns one turn.
func (h *Host) Turn(ctx context.Context, conversation, turn string) (Turn, error) {
	if _, err := h.store.Conversation(ctx, conversation); err != nil {
		return Turn{}, notFound(err, CodeUnknownConversation, "conversation", conversation)
	}
	r, err := h.store.Turn(ctx, turn)
	if err != nil || r.ConversationID != conversation {
		return Turn{}, notFoundOr(err, CodeUnknownTurn, "turn", turn)
	}
	return turnView(r), nil
}
