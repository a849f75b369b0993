package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/aoagents/ao-host/store"
)

// DeleteRequest says how far a deletion may go.
type DeleteRequest struct {
	// Unfinished says that what is not finished may be lost too: what runs is stopped
	// first, as Stop does it, and what waits goes with the rest.
	Unfinished bool `json:"unfinished,omitempty"`
}

// Deleted is the conversation that was deleted.
type Deleted struct {
	Conversation string `json:"conversation"`
}

// erasure is the end of a conversation that is being deleted.
type erasure struct {
	// done is closed once the conversation is gone for good or stays, for err.
	done chan struct{}
	// off is closed when it was called off, for err.
	off chan struct{}
	err error
	// record goes into its transaction, nil for nothing.
	record record
}

// Delete removes a conversation with everything that is kept of it: its journal, turns,
// cards, plans and attachments. Its session is ended first. While a turn runs, messages
// wait or cards are open it is refused with unfinished_work, unless the request says
// that this is meant. Streams of its events end with conversation_deleted, as do
// requests that it overtakes; whatever is asked of it later is refused with
// unknown_conversation.
//
// It returns once nothing is left in the data file and its log. From one moment on,
// which is one transaction, the conversation is gone for everybody, also when the
// process dies then or ctx ends: the rest is removed by itself, in parts. Its room in the
// data file is used again; the file does not get shorter. What the harness keeps of it is
// the harness's and stays, as do backups of the data folder.
//
// Errors: unfinished_work, unknown_conversation, those of the store, and exit_unproven
// when its process could not be ended. The conversation stays then: with store_full
// before anything was stopped it goes on as if nothing had been asked; where the disk ran
// full later, or the process could not be ended, what ran was stopped and the queue is
// held with the reason deletion. Deleting it again finishes it. The store's errors
// can also be of the removal that follows: then the conversation is gone, and the rest
// of it goes as soon as that is possible.
func (h *Host) Delete(ctx context.Context, conversation string, r DeleteRequest) error {
	return h.delete(ctx, conversation, r, nil)
}

// delete is Delete with a record of the request, so that one which another process has
// to answer, because this one ended over it, is not told that there is no conversation.
func (h *Host) delete(ctx context.Context, conversation string, r DeleteRequest, put record) error {
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return err
	}
	e, err := ask(ctx, c, func() (*erasure, error) { return c.beginErase(ctx, r, put) })
	if running := c.erasing.Load(); err != nil && running != nil && CodeOf(err) == CodeConversationDeleted {
		// Another request was faster, and it is the same that is wanted.
		e, err = running, nil
	}
	if err != nil {
		return err
	}
	if err := e.wait(ctx); err != nil {
		return err
	}
	return h.removed(ctx, conversation)
}

// removed returns once nothing of a deleted conversation is left.
func (h *Host) removed(ctx context.Context, conversation string) error {
	return storeError(h.store.Removed(ctx, conversation))
}

// beginErase decides on a deletion. From then on the conversation takes nothing more
// and ends as at a close.
func (c *conversation) beginErase(ctx context.Context, r DeleteRequest, put record) (*erasure, error) {
	if c.closing {
		return nil, &Error{Code: CodeClosed}
	}
	// The answer must not rest on what could still fail to be recorded.
	if err := c.recorded(); err != nil {
		return nil, err
	}
	if what := c.unfinished(); what != "" && !r.Unfinished {
		return nil, fail(CodeUnfinishedWork, "%s", what)
	}
	// Nothing is stopped for a deletion that the store would not take.
	if err := c.transact(ctx, func() error { c.saveRow(); return nil }); err != nil {
		return nil, err
	}
	e := &erasure{done: make(chan struct{}), off: make(chan struct{}), record: put}
	c.erasing.Store(e)
	c.log.Info("the conversation is being deleted")
	c.beginClose(CodeHoldDeletion)
	c.h.erasures.Go(func() { c.h.erase(c, e) })
	return e, nil
}

// unfinished says what of a conversation is not finished, or "".
func (c *conversation) unfinished() string {
	var parts []string
	queued := 0
	for _, t := range c.live {
		if t.State == store.TurnQueued && !t.claimed {
			queued++
		} else {
			parts = append(parts, "Turn "+t.ID+" runs.")
		}
	}
	if s := c.sess; s != nil && (s.agentRuns || s.adopted != nil) {
		parts = append(parts, "The agent works by itself.")
	}
	if queued > 0 {
		parts = append(parts, counted(queued, "message waits", "messages wait")+" in the queue.")
	}
	if n := len(c.cards); n > 0 {
		parts = append(parts, counted(n, "card is", "cards are")+" open.")
	}
	return strings.Join(parts, " ")
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// erase waits for the conversation's goroutine to end and takes the conversation away.
// Its process must be gone before: nothing would know of it afterwards (rule 21).
func (h *Host) erase(c *conversation, e *erasure) {
	defer close(e.done)
	select {
	case <-e.off:
		return
	case <-c.done:
	}
	ctx := context.Background()
	if e.err = c.left(); e.err == nil {
		e.err = h.proveExits(ctx, c.id)
	}
	if e.err == nil {
		e.err = storeError(h.store.Write(ctx, func(tx *store.Tx) error {
			if err := tx.DeleteConversation(ctx, c.id); err != nil || e.record == nil {
				return err
			}
			return e.record(tx)
		}))
	}
	if e.err == nil {
		h.levels.forget(c.id)
		c.log.Info("the conversation was deleted")
	} else {
		c.log.Error("the conversation could not be deleted", "code", string(CodeOf(e.err)))
	}
	// Who asks for it now reads the store: it is not there, or it goes on.
	h.mu.Lock()
	delete(h.actors, c.id)
	h.mu.Unlock()
}

// callOff gives up a deletion that the store does not take: how the conversation came to
// its end could not be recorded before it. It stays, stopped and held until a person
// goes on with it.
func (c *conversation) callOff(e *erasure) {
	c.log.Error("the conversation could not be deleted", "code", string(CodeOf(c.trouble)))
	e.err = c.trouble
	c.erasing.Store(nil)
	// The host may have begun to close meanwhile.
	c.closing = c.h.isClosed()
	if s := c.sess; s != nil && s.ending == "closed" {
		// It is no close any more: what waits is held here and once, because a person may
		// act before the process is gone.
		s.ending = "stop"
	}
	_ = c.stopUnrecorded(CodeHoldDeletion)
	if c.stale == nil {
		c.hold(CodeHoldDeletion)
	}
	close(e.off)
}

// wait returns how the deletion ended.
func (e *erasure) wait(ctx context.Context) error {
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// overtook is what a request is told that came after a deletion: how that ended.
func (e *erasure) overtook(ctx context.Context) error {
	if err := e.wait(ctx); err != nil {
		return err
	}
	return &Error{Code: CodeConversationDeleted}
}

// ended is the error of a request that a conversation does not carry out any more.
func (c *conversation) ended(ctx context.Context) error {
	if e := c.erasing.Load(); e != nil {
		return e.overtook(ctx)
	}
	return &Error{Code: CodeClosed}
}
