package store

import (
	"context"
	"sync"
	"time"

	"github.com/aoagents/ao-host/store/internal/db"
)

// Reader has the reads. On a [Store] each call is one short read of what is
// committed, safe for concurrent use; on a [Tx] it sees what the closure wrote.
//
// A read of one row fails with CodeNotFound when there is none; a list is empty
// then. Results are copies that belong to the caller.
type Reader struct {
	q *db.Queries
	// detached is set inside a transaction: a read that is interrupted there must
	// not touch the writer's connection from another goroutine.
	detached bool
	// gate is held by reads and closed for the moment the log is truncated; nil
	// inside a transaction.
	gate *sync.RWMutex
}

// enter takes part in the gate and returns how to leave.
func (r *Reader) enter() func() {
	if r.gate == nil {
		return func() {}
	}
	r.gate.RLock()
	return r.gate.RUnlock
}

func (r *Reader) ctx(ctx context.Context) context.Context {
	if r.detached {
		return context.Background()
	}
	return ctx
}

func one[R, T any](ctx context.Context, row R, err error, convert func(R) T, what, id string) (T, error) {
	if err != nil {
		var zero T
		err = readError(ctx, err, what)
		if CodeOf(err) == CodeNotFound && id != "" {
			err = notFound(what, id)
		}
		return zero, err
	}
	return convert(row), nil
}

func many[R, T any](ctx context.Context, rows []R, err error, convert func(R) T, what string) ([]T, error) {
	if err != nil {
		return nil, readError(ctx, err, what)
	}
	return each(rows, convert), nil
}

// readError prefers the reason of a context that ended to how SQLite or
// database/sql tell of it.
func readError(ctx context.Context, err error, what string) error {
	if e := ctx.Err(); e != nil {
		return e
	}
	return translate(err, what)
}

// Conversation returns one conversation.
func (r *Reader) Conversation(ctx context.Context, id string) (Conversation, error) {
	defer r.enter()()
	row, err := r.q.Conversation(r.ctx(ctx), id)
	return one(r.ctx(ctx), row, err, conversationRow, "conversation", id)
}

// Conversations returns all conversations, the newest first.
func (r *Reader) Conversations(ctx context.Context) ([]Conversation, error) {
	defer r.enter()()
	rows, err := r.q.Conversations(r.ctx(ctx))
	return many(r.ctx(ctx), rows, err, conversationRow, "conversations")
}

// Turn returns one turn.
func (r *Reader) Turn(ctx context.Context, id string) (Turn, error) {
	defer r.enter()()
	row, err := r.q.Turn(r.ctx(ctx), id)
	return one(r.ctx(ctx), row, err, turnRow, "turn", id)
}

// Turns returns all turns of a conversation by position.
func (r *Reader) Turns(ctx context.Context, conversation string) ([]Turn, error) {
	defer r.enter()()
	rows, err := r.q.Turns(r.ctx(ctx), conversation)
	return many(r.ctx(ctx), rows, err, turnRow, "turns")
}

// LiveTurns returns the turns that are queued, dispatched or running, in the
// order of the queue.
func (r *Reader) LiveTurns(ctx context.Context, conversation string) ([]Turn, error) {
	defer r.enter()()
	rows, err := r.q.LiveTurns(r.ctx(ctx), conversation)
	return many(r.ctx(ctx), rows, err, turnRow, "turns")
}

// TurnByClientID returns the turn with a client message id.
func (r *Reader) TurnByClientID(ctx context.Context, conversation, clientID string) (Turn, error) {
	defer r.enter()()
	row, err := r.q.TurnByClientID(r.ctx(ctx), conversation, clientID)
	return one(r.ctx(ctx), row, err, turnRow, "turn with client id", clientID)
}

// Interaction returns one interaction.
func (r *Reader) Interaction(ctx context.Context, id string) (Interaction, error) {
	defer r.enter()()
	row, err := r.q.Interaction(r.ctx(ctx), id)
	return one(r.ctx(ctx), row, err, interactionRow, "interaction", id)
}

// InteractionByKey returns the newest interaction with a key. One with a native
// reply is found only in its own generation, one that is answered by a follow-up
// message (Route "follow-up") in any (rule 13).
func (r *Reader) InteractionByKey(ctx context.Context, conversation, key string, generation int64) (Interaction, error) {
	defer r.enter()()
	row, err := r.q.InteractionByKey(r.ctx(ctx), conversation, key, generation)
	return one(r.ctx(ctx), row, err, interactionRow, "interaction with key", key)
}

// Interactions returns the interactions of a conversation in the order they were
// asked; with unsettledOnly those that are open or claimed.
func (r *Reader) Interactions(ctx context.Context, conversation string, unsettledOnly bool) ([]Interaction, error) {
	defer r.enter()()
	query := r.q.Interactions
	if unsettledOnly {
		query = r.q.UnsettledInteractions
	}
	rows, err := query(r.ctx(ctx), conversation)
	return many(r.ctx(ctx), rows, err, interactionRow, "interactions")
}

// Proposal returns one proposal.
func (r *Reader) Proposal(ctx context.Context, id string) (Proposal, error) {
	defer r.enter()()
	row, err := r.q.Proposal(r.ctx(ctx), id)
	return one(r.ctx(ctx), row, err, proposalRow, "proposal", id)
}

// ProposalByKey returns the newest proposal with a key.
func (r *Reader) ProposalByKey(ctx context.Context, conversation, key string) (Proposal, error) {
	defer r.enter()()
	row, err := r.q.ProposalByKey(r.ctx(ctx), conversation, key)
	return one(r.ctx(ctx), row, err, proposalRow, "proposal with key", key)
}

// Proposals returns the proposals of a conversation in the order they were made.
func (r *Reader) Proposals(ctx context.Context, conversation string) ([]Proposal, error) {
	defer r.enter()()
	rows, err := r.q.Proposals(r.ctx(ctx), conversation)
	return many(r.ctx(ctx), rows, err, proposalRow, "proposals")
}

// Generation returns one generation of a conversation.
func (r *Reader) Generation(ctx context.Context, conversation string, number int64) (Generation, error) {
	defer r.enter()()
	row, err := r.q.Generation(r.ctx(ctx), conversation, number)
	return one(r.ctx(ctx), row, err, generationRow, "generation", "")
}

// OpenGenerations returns the generations of all conversations whose exit is not
// proven.
func (r *Reader) OpenGenerations(ctx context.Context) ([]Generation, error) {
	defer r.enter()()
	rows, err := r.q.OpenGenerations(r.ctx(ctx))
	return many(r.ctx(ctx), rows, err, generationRow, "generations")
}

// Inputs returns the inputs of a generation after a number, in order.
func (r *Reader) Inputs(ctx context.Context, conversation string, generation int64, after uint64) ([]Input, error) {
	defer r.enter()()
	rows, err := r.q.Inputs(r.ctx(ctx), conversation, generation, signed(after))
	return many(r.ctx(ctx), rows, err, inputRow, "inputs")
}

// Outbox returns the frames of a generation in the order of their ids.
func (r *Reader) Outbox(ctx context.Context, conversation string, generation int64) ([]Outbox, error) {
	defer r.enter()()
	rows, err := r.q.Outbox(r.ctx(ctx), conversation, generation)
	return many(r.ctx(ctx), rows, err, outboxRow, "outbox")
}

// UnwrittenOutbox returns those frames that were not marked as written.
func (r *Reader) UnwrittenOutbox(ctx context.Context, conversation string, generation int64) ([]Outbox, error) {
	defer r.enter()()
	rows, err := r.q.UnwrittenOutbox(r.ctx(ctx), conversation, generation)
	return many(r.ctx(ctx), rows, err, outboxRow, "outbox")
}

// Timers returns the timers of a generation, the one that is due first first.
func (r *Reader) Timers(ctx context.Context, conversation string, generation int64) ([]Timer, error) {
	defer r.enter()()
	rows, err := r.q.Timers(r.ctx(ctx), conversation, generation)
	return many(r.ctx(ctx), rows, err, timerRow, "timers")
}

// SavedState returns the newest saved state of a generation.
func (r *Reader) SavedState(ctx context.Context, conversation string, generation int64) (SavedState, error) {
	defer r.enter()()
	row, err := r.q.SavedState(r.ctx(ctx), conversation, generation)
	return one(r.ctx(ctx), row, err, savedStateRow, "saved state", "")
}

const (
	// defaultPage is how many events a page has when the caller names no limit.
	defaultPage = 500
	// pageBodies bounds the bodies of a page: an item can have megabytes, and
	// some hundred of them would be more memory than a reader may cost.
	pageBodies = 4 << 20
)

// Events returns events of a journal after a number, in order: up to limit, where 0
// means 500, and up to 4 MiB of bodies, but at least one if there is one. So a page
// that is not full does not mean the end; an empty one does. Where deltas were
// compacted numbers are missing.
func (r *Reader) Events(ctx context.Context, conversation string, after uint64, limit int) ([]Event, error) {
	defer r.enter()()
	if limit <= 0 {
		limit = defaultPage
	}
	// Asking for the sizes reads no bodies.
	sizes, err := r.q.EventSizes(r.ctx(ctx), conversation, signed(after), int64(limit))
	if err != nil || len(sizes) == 0 {
		return many(r.ctx(ctx), nil, err, eventRow, "journal")
	}
	n, _ := fitting(len(sizes), func(i int) int64 { return sizes[i] }, pageBodies)
	rows, err := r.q.Events(r.ctx(ctx), conversation, signed(after), int64(n))
	return many(r.ctx(ctx), rows, err, eventRow, "journal")
}

// EventsOfType is Events for those of one type.
func (r *Reader) EventsOfType(ctx context.Context, conversation, typ string, after uint64, limit int) ([]Event, error) {
	defer r.enter()()
	rows, err := r.q.EventsOfType(r.ctx(ctx), conversation, signed(after), typ, int64(limit))
	return many(r.ctx(ctx), rows, err, eventRow, "journal")
}

// JournalFrom returns the number of the journal's last event when a turn was
// accepted: all that happened in the turn is after it.
func (r *Reader) JournalFrom(ctx context.Context, turn string) (uint64, error) {
	defer r.enter()()
	from, err := r.q.JournalFrom(r.ctx(ctx), turn)
	return one(r.ctx(ctx), from, err, func(n int64) uint64 { return uint64(max(n, 0)) }, "turn", turn)
}

// Blob returns the bytes with a digest.
func (r *Reader) Blob(ctx context.Context, digest string) (Blob, error) {
	defer r.enter()()
	row, err := r.q.Attachment(r.ctx(ctx), digest)
	return one(r.ctx(ctx), row, err, blobRow, "attachment", digest)
}

// Grants returns all grants, by harness.
func (r *Reader) Grants(ctx context.Context) ([]Grant, error) {
	defer r.enter()()
	rows, err := r.q.Grants(r.ctx(ctx))
	return many(r.ctx(ctx), rows, err, grantRow, "grants")
}

// Grant returns the grant of a harness.
func (r *Reader) Grant(ctx context.Context, harness string) (Grant, error) {
	defer r.enter()()
	row, err := r.q.Grant(r.ctx(ctx), harness)
	return one(r.ctx(ctx), row, err, grantRow, "grant for", harness)
}

// IdempotentResult is what was answered to a request with an idempotency key.
type IdempotentResult struct {
	Key            string
	ConversationID string
	Result         []byte
	At             time.Time
}

// Idempotent returns what was answered to the request with this key.
func (r *Reader) Idempotent(ctx context.Context, key string) (IdempotentResult, error) {
	defer r.enter()()
	row, err := r.q.Idempotency(r.ctx(ctx), key)
	return one(r.ctx(ctx), row, err, idempotentRow, "request with key", key)
}
