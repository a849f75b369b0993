package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// inFront reports whether a submission goes before those of the user and runs
// while they are held (rule 21b).
func inFront(origin string) bool {
	switch abi.Origin(origin) {
	case abi.OriginAnswer, abi.OriginImplement, abi.OriginFeedback, abi.OriginSteer:
		return true
	}
	return false
}

// sortQueue puts the live turns into the order they run in.
func (c *conversation) sortQueue() {
	slices.SortStableFunc(c.live, func(a, b *turn) int { return runsBefore(a.Turn, b.Turn) })
}

// runsBefore compares the places of two turns in the queue.
func runsBefore(a, b store.Turn) int {
	if fa, fb := inFront(a.Origin), inFront(b.Origin); fa != fb {
		if fa {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Position, b.Position)
}

// next is the turn that would be dispatched now, or nil.
func (c *conversation) next() *turn {
	if c.blocked {
		return nil
	}
	for _, t := range c.live {
		if t.State != store.TurnQueued || t.claimed {
			continue
		}
		if c.row.Held && !inFront(t.Origin) {
			continue
		}
		return t
	}
	return nil
}

// pump starts what can be started: a session for a waiting turn, or the turn. It
// reports whether a turn was handed to the binding.
func (c *conversation) pump() bool {
	if c.closing || c.quit || c.stale != nil || c.running != nil || c.stop != nil {
		return false
	}
	s, t := c.sess, c.next()
	if s != nil && s.ending == "" && c.needsRelaunch(t) {
		// A turn that the agent began itself is not cut off for it, and nothing is sent
		// to a process that runs under something else than what was asked for.
		if !s.agentRuns {
			c.endProcess(endingRelaunch)
		}
		return false
	}
	if s != nil && s.state == SessionReady {
		// The message that it was for may have been taken out of the queue.
		c.dropProblem(CodeRelaunch)
	}
	if t == nil {
		return false
	}
	if s == nil {
		c.start(false)
		return false
	}
	if s.state != SessionReady {
		return false
	}
	c.submit(t)
	return true
}

// needsRelaunch reports whether the next turn needs another process than the one
// that runs (rule 7), and says so: the binding asked for one, the conversation
// was relocated, the program was replaced, a person has signed in, or the turn's permission is one of the
// harness's launch flags.
func (c *conversation) needsRelaunch(t *turn) bool {
	s := c.sess
	if s.relaunch || t == nil || s.state != SessionReady {
		return s.relaunch
	}
	if len(s.signIns) > 0 {
		return true
	}
	if s.dir != dirOf(c.row) {
		c.tellRelaunch(fmt.Sprintf("The conversation goes on in %q.", c.row.Cwd))
		return true
	}
	if c.programReplaced() {
		s.relaunch = true
		c.tellRelaunch("Its program was replaced on the disk.")
		return true
	}
	if slices.Equal(permissionArgs(s.binding.info.Manifest, t.settings.Permission), s.launchArgs) {
		return false
	}
	c.tellRelaunch(fmt.Sprintf("The permission %q is a launch flag of this harness.", t.settings.Permission))
	return true
}

// tellRelaunch shows that the process is to be replaced; the problem goes when
// the next one is ready.
func (c *conversation) tellRelaunch(why string) {
	e := &Error{Code: CodeRelaunch, Detail: sentence(why)}
	c.setProblem(abi.Problem{Code: string(CodeRelaunch), Field: "session", Message: e.Error(), Needs: abi.NeedsRelaunch})
	c.tx.urgent = true
}

// submit hands a turn to the binding, with the settings frozen at acceptance.
func (c *conversation) submit(t *turn) {
	if why := c.unsupported(t.content); why != "" {
		c.running = t
		c.endTurn(t, store.TurnNotSent, string(CodeContentUnsupported), why)
		c.hold(CodeNotSent)
		return
	}
	if !c.sess.agentRuns {
		// What went on from a restored review is over, also where the agent told no end.
		c.sess.adopted = nil
	}
	t.claimed = true
	t.Generation = c.sess.gen
	c.running = t
	c.watchTurn(t)
	c.noteOwn(t.settings)
	ev := &abi.Submit{Turn: t.ID, ClientID: t.ClientID, Content: withPlaceholders(t.content), Settings: t.settings, Origin: abi.Origin(t.Origin)}
	if k := c.cards[t.InteractionID]; k != nil {
		ev.Interaction = k.Key
		ask := k.ask
		ev.Asked = &ask
		if len(t.Reply) > 0 {
			var r abi.Reply
			if json.Unmarshal(t.Reply, &r) == nil {
				ev.Reply = &r
			}
		}
	}
	if t.ProposalID != "" {
		if p, err := c.h.store.Proposal(c.ctx, t.ProposalID); err == nil {
			ev.Proposal = p.Key
		}
	}
	c.dirty = true
	c.step(&abi.Event{Submit: ev}, "")
}

// mayDeliver reports whether a call may carry a turn's content: once, and only
// the turn that was handed over.
func (c *conversation) mayDeliver(id string) bool {
	t := c.liveTurn(id)
	return t != nil && t.claimed && t.State == store.TurnQueued
}

// dispatched records that the frame with outbox id out carries the turn. From
// its commit on the delivery is possible.
func (c *conversation) dispatched(id string, out uint64) {
	t := c.liveTurn(id)
	t.State, t.outID, t.DispatchedAt = store.TurnDispatched, out, c.h.now()
	c.sess.log.Info("a message is on its way", "turn", t.ID)
	c.sess.turnByOut[out] = id
	c.saveTurn(t)
	if !c.row.NativeUsed {
		c.row.NativeUsed = true
		c.saveRow()
	}
}

// written learns what became of a frame on the pipe.
func (c *conversation) written(s *session, id uint64, err error) {
	if turnID, ok := s.turnByOut[id]; ok {
		delete(s.turnByOut, id)
		if t := c.liveTurn(turnID); t != nil {
			t.notWritten = isNotWritten(err)
		}
		if err == nil {
			c.markWritten(s, id)
		} else {
			c.inputLost(s)
		}
		return
	}
	if err != nil {
		c.inputLost(s)
	}
	cardID, ok := s.cardByOut[id]
	if !ok {
		return
	}
	delete(s.cardByOut, id)
	k := c.cards[cardID]
	if k == nil {
		return
	}
	switch {
	case err == nil:
		c.markWritten(s, id)
		if k.withdrawn == "" {
			c.closeCard(k, answerDisposition(k.Interaction), "reply written")
		}
	case isNotWritten(err):
		k.notWritten = true
	default:
		k.maybeWritten = true
	}
	c.tx.urgent = true
}

func (c *conversation) markWritten(s *session, id uint64) {
	at := c.h.now()
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.MarkOutboxWritten(ctx, c.id, s.gen, id, at) })
}

func (c *conversation) liveTurn(id string) *turn {
	for _, t := range c.live {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// saveTurn stores a turn and tells its new state.
func (c *conversation) saveTurn(t *turn) {
	row := t.Turn
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateTurn(ctx, row) })
	c.journalValue(EventTurn, t.ID, turnView(row))
	c.dirty = true
	c.tx.urgent = true
}

func (c *conversation) saveRow() {
	row := c.row
	row.UpdatedAt = c.h.now()
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateConversation(ctx, row) })
	c.dirty = true
}

// hold stops the queue for a reason. Nothing is said when nothing waits and no
// message could be drained into the same failure.
func (c *conversation) hold(reason Code) {
	c.blocked, c.blockedBy = true, reason
	waiting := slices.ContainsFunc(c.live, func(t *turn) bool { return t.State == store.TurnQueued && t != c.running })
	if !waiting || c.row.Held {
		return
	}
	c.row.Held, c.row.HoldReason = true, string(reason)
	c.log.Info("the queue is held", "reason", string(reason))
	c.saveRow()
	c.journalQueue()
	c.tx.urgent = true
}

// unblock lets what goes to the front run although older turns may be held; a
// person did something.
func (c *conversation) unblock() {
	c.blocked = false
	if c.stop != nil {
		c.stop.released = true
	}
}

// release lets the queue run again; a person did something.
func (c *conversation) release() {
	c.unblock()
	c.holdUnsettled = false
	if !c.row.Held {
		return
	}
	c.row.Held, c.row.HoldReason = false, ""
	c.log.Info("the queue runs again")
	c.saveRow()
	c.journalQueue()
}

func (c *conversation) journalQueue() { c.journalValue(EventQueue, "", c.queueView()) }

// newSubmission is what accepting a submission needs.
type newSubmission struct {
	clientID      string
	origin        abi.Origin
	content       []abi.Content
	blobs         []store.Blob
	settings      abi.Settings
	rev           int64
	reply         []byte
	interactionID string
	proposalID    string
	retryOf       string
}

// accept adds a submission to the running transaction.
func (c *conversation) accept(n newSubmission) *turn { return c.acceptAs(c.h.cfg.IDs(), n) }

func (c *conversation) acceptAs(id string, n newSubmission) *turn {
	t := &turn{
		Turn: store.Turn{
			ID: id, ConversationID: c.id, State: store.TurnQueued, Version: 1, ClientID: n.clientID, Origin: string(n.origin),
			Content: mustJSON(nonNil(n.content)), Settings: mustJSON(n.settings), SettingsRev: n.rev, Reply: n.reply,
			InteractionID: n.interactionID, ProposalID: n.proposalID, RetryOf: n.retryOf, AcceptedAt: c.h.now(),
		},
		settings: n.settings, content: n.content,
	}
	if t.ClientID == "" {
		t.ClientID = c.h.cfg.IDs()
	}
	for _, o := range c.live {
		t.Position = max(t.Position, o.Position)
	}
	c.tx.do(func(ctx context.Context, tx *store.Tx) error {
		for _, b := range n.blobs {
			if err := tx.PutBlob(ctx, c.id, b); err != nil {
				return err
			}
		}
		pos, err := tx.NextPosition(ctx, c.id)
		if err != nil {
			return err
		}
		t.Position = pos
		return tx.InsertTurn(ctx, t.Turn)
	})
	c.journalValue(EventTurn, t.ID, turnView(t.Turn))
	c.tx.then(func() { c.log.Info("a message was accepted", "turn", t.ID, "origin", t.Origin) })
	c.live = append(c.live, t)
	c.sortQueue()
	c.dirty = true
	return t
}

func nonNil(c []abi.Content) []abi.Content {
	if c == nil {
		return []abi.Content{}
	}
	return c
}

// repeated returns the turn that an earlier request with this client id made.
func (c *conversation) repeated(ctx context.Context, clientID string, origins ...abi.Origin) (Turn, bool, error) {
	if clientID == "" {
		return Turn{}, false, nil
	}
	r, err := c.h.store.TurnByClientID(ctx, c.id, clientID)
	if isNotFound(err) {
		return Turn{}, false, nil
	}
	if err != nil {
		return Turn{}, false, storeError(err)
	}
	if !slices.Contains(origins, abi.Origin(r.Origin)) {
		return Turn{}, true, failField(CodeClientIDReused, "client_id", "The id %q belongs to a request of the kind %q.", clientID, r.Origin)
	}
	return turnView(r), true, nil
}

// content checks a message and separates the bytes of its attachments.
func (h *Host) content(in []Content) ([]abi.Content, []store.Blob, error) { return h.edited(nil, in) }

// edited is content in which attachments of a turn can be named by their digest.
func (h *Host) edited(of *turn, in []Content) ([]abi.Content, []store.Blob, error) {
	var out []abi.Content
	var blobs []store.Blob
	text, attachments := 0, 0
	for i, b := range in {
		if b.Type == abi.ContentImage || b.Type == abi.ContentFile {
			attachments++
		}
		refuse := func(code Code, format string, args ...any) error {
			return failField(code, "content", "%s "+format, append([]any{attachmentName(attachments, b.Name)}, args...)...)
		}
		switch b.Type {
		case abi.ContentText:
			if text += len(b.Text); text > h.cfg.MaxMessage {
				return nil, nil, failField(CodeMessageTooLarge, "content", "The text has more than %d bytes.", h.cfg.MaxMessage)
			}
			if b.Text != "" {
				out = append(out, abi.Content{Type: abi.ContentText, Text: b.Text})
			}
		case abi.ContentImage, abi.ContentFile:
			if of != nil && b.Digest != "" && len(b.Bytes) == 0 {
				j := slices.IndexFunc(of.content, func(o abi.Content) bool { return o.Type == b.Type && o.Digest == b.Digest })
				if j < 0 {
					return nil, nil, refuse(CodeInvalidArgument, "is to be kept, and the turn has none of this type with the digest %q.", b.Digest)
				}
				out = append(out, of.content[j])
				continue
			}
			if len(b.Bytes) == 0 {
				return nil, nil, refuse(CodeEmptyMessage, "has no bytes.")
			}
			if len(b.Bytes) > h.cfg.MaxAttachment {
				return nil, nil, refuse(CodeMessageTooLarge, "has %d bytes; at most %d are accepted.", len(b.Bytes), h.cfg.MaxAttachment)
			}
			if b.Media == "" {
				return nil, nil, refuse(CodeInvalidArgument, "has no media type.")
			}
			sum := sha256.Sum256(b.Bytes)
			digest := "sha256:" + hex.EncodeToString(sum[:])
			out = append(out, abi.Content{Type: b.Type, Digest: digest, Media: b.Media, Name: b.Name})
			blobs = append(blobs, store.Blob{Digest: digest, Media: b.Media, Bytes: b.Bytes})
		default:
			return nil, nil, failField(CodeInvalidArgument, "content", "Block %d has the unknown type %q.", i+1, b.Type)
		}
	}
	if len(out) == 0 {
		return nil, nil, &Error{Code: CodeEmptyMessage, Field: "content"}
	}
	return out, blobs, nil
}

// attachmentName names one of a message's attachments, which are counted apart from its
// texts: a person sees what was attached, not the blocks.
func attachmentName(n int, name string) string {
	if name == "" {
		return fmt.Sprintf("Attachment %d", n)
	}
	return fmt.Sprintf("Attachment %d (%s)", n, quoted(name))
}

// unsupported says what of a message the live session does not take, or "".
func (c *conversation) unsupported(content []abi.Content) string {
	for _, b := range content {
		if why := untaken(c.caps, b.Type); why != "" {
			return why
		}
	}
	return ""
}

// untaken says why a session does not take a kind of content, or "".
func untaken(caps abi.Capabilities, t abi.ContentType) string {
	switch {
	case t == abi.ContentImage && !caps.Images:
		return "The harness does not take images."
	case t == abi.ContentFile:
		return "The harness does not take attached files."
	}
	return ""
}

// Refuses says why the session does not take content, as Send would, so that a
// client can tell it before anything is sent (C1). It is nil as long as no session is
// ready: what a harness takes is only known then.
//
// Errors: content_unsupported.
func (s Session) Refuses(content []Content) error {
	if s.State != SessionReady {
		return nil
	}
	for _, b := range content {
		if why := untaken(s.Capabilities, b.Type); why != "" {
			return &Error{Code: CodeContentUnsupported, Field: "content", Detail: why}
		}
	}
	return nil
}

// blobPrefix begins the placeholder of an attachment; the digest's hex follows.
const blobPrefix = "ao-blob-sha256-"

func withPlaceholders(in []abi.Content) []abi.Content {
	out := slices.Clone(nonNil(in))
	for i := range out {
		if d := out[i].Digest; d != "" {
			out[i].Data = blobPrefix + d[len("sha256:"):]
		}
	}
	return out
}

func appendBase64(dst, b []byte) []byte { return base64.StdEncoding.AppendEncode(dst, b) }

// Send accepts a message with the settings of this moment, at the end of the
// queue, and releases a held queue (rule 21b). It returns once the acceptance is
// committed.
//
// Errors: empty_message, message_too_large, content_unsupported,
// unknown_conversation, client_id_reused, and those of the store.
func (h *Host) Send(ctx context.Context, conversation string, m Message) (Turn, error) {
	content, blobs, err := h.content(m.Content)
	if err != nil {
		return Turn{}, err
	}
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Turn{}, err
	}
	return ask(ctx, c, func() (Turn, error) { return c.sendMessage(ctx, m, content, blobs, abi.OriginUser) })
}

func (c *conversation) sendMessage(ctx context.Context, m Message, content []abi.Content, blobs []store.Blob, origin abi.Origin) (Turn, error) {
	if c.closing {
		return Turn{}, &Error{Code: CodeClosed}
	}
	if t, done, err := c.repeated(ctx, m.ClientID, abi.OriginUser, abi.OriginSteer); done || err != nil {
		return t, err
	}
	settings := c.settings
	if m.Settings != nil {
		var err error
		if settings, err = c.patched(settings, *m.Settings); err != nil {
			return Turn{}, err
		}
	}
	if c.sess != nil && c.sess.state == SessionReady {
		if why := c.unsupported(content); why != "" {
			return Turn{}, &Error{Code: CodeContentUnsupported, Field: "content", Detail: why}
		}
	}
	var t *turn
	err := c.transact(ctx, func() error {
		t = c.accept(newSubmission{clientID: m.ClientID, origin: origin, content: content, blobs: blobs, settings: settings, rev: c.row.SettingsRev})
		t.links = c.linksOf(ctx)
		c.release()
		return nil
	})
	if err != nil {
		return Turn{}, err
	}
	return turnView(t.Turn), nil
}

// ResumeQueue lets a held queue run again.
func (h *Host) ResumeQueue(ctx context.Context, conversation string) (Controls, error) {
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Controls{}, err
	}
	return ask(ctx, c, func() (Controls, error) {
		return c.controlsAfter(c.transact(ctx, func() error {
			c.release()
			return nil
		}))
	})
}

// notFoundOr is notFound for a row that exists but belongs elsewhere.
func notFoundOr(err error, code Code, field, id string) error {
	if err == nil {
		return failField(code, field, "%q is not known.", id)
	}
	return notFound(err, code, field, id)
}
