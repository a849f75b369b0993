package host

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// onReady takes the session as usable.
func (c *conversation) onReady(r *abi.Ready) {
	s := c.sess
	owner, err := c.nativeOwner(r.NativeSession)
	if err != nil {
		// Who holds it is not known, so it may be another conversation (rule 21).
		e := storeError(err)
		c.setProblem(abi.Problem{Code: string(CodeOf(e)), Field: "session", Message: e.Error()})
		c.hold(CodeOf(e))
		s.endAfter = string(CodeOf(e))
		return
	}
	if owner != "" {
		c.setProblem(abi.Problem{Code: string(CodeNativeSessionTaken), Field: "session", Message: (&Error{Code: CodeNativeSessionTaken, Detail: "Conversation " + owner + " holds it."}).Error()})
		c.hold(CodeNativeSessionTaken)
		s.endAfter = string(CodeNativeSessionTaken)
		return
	}
	first := s.state != SessionReady
	s.state, s.slowAt, s.replaying = SessionReady, time.Time{}, false
	s.native, s.version = r.NativeSession, r.ProviderVersion
	s.validator.use(s.set.For(r.ProviderVersion))
	cat := r.Catalog
	c.catalog, c.caps, c.dirty = &cat, r.Capabilities, true
	old, used := c.row.NativeSession, c.row.NativeUsed
	if r.NativeSession != old {
		if old != "" && used {
			// One warning, in the transaction that replaces the session (rule 23).
			why := r.Reason
			if why == "" {
				why = "The harness gave no reason."
			}
			c.journalValue(EventWarning, "", abi.Warning{Code: string(CodeSessionReplaced), Message: codeTexts[CodeSessionReplaced] + " " + why})
		}
		if old != "" {
			c.expireFollowUps(old)
		}
		c.row.NativeSession, c.row.NativeUsed, c.row.Own = r.NativeSession, false, nil
		c.saveRow()
	}
	if first {
		s.log.Info("the session is ready")
		c.watchReady(s.watch)
		s.log.Debug("provider", "version", r.ProviderVersion)
		c.dropProblems("session")
		c.checkProviderVersion(r.ProviderVersion)
		if err := c.tellReplaced(r.ProviderVersion); err != nil {
			s.log.Error("the version of the session before could not be read", "error", err)
		}
	}
	s.row.ProviderVersion, s.row.NativeSession = s.version, s.native
	c.saveGeneration(s)
	c.journal(EventCatalog, "", nil)
	c.journalSession()
	if len(c.unsettled) > 0 && c.holdUnsettled {
		// The harness could not prove what became of them, and nobody has decided
		// anything since.
		c.hold(CodeUncertainDelivery)
	}
	c.unsettled, c.holdUnsettled = nil, false
	c.answerProbes(nil)
	c.tx.urgent = true
}

// nativeOwner returns another conversation that holds a native session.
func (c *conversation) nativeOwner(native string) (string, error) {
	if native == "" || native == c.row.NativeSession {
		return "", nil
	}
	all, err := c.h.store.Conversations(c.ctx)
	if err != nil {
		return "", err
	}
	for _, o := range all {
		if o.ID != c.id && o.Harness == c.row.Harness && o.NativeSession == native {
			return o.ID, nil
		}
	}
	return "", nil
}

// checkProviderVersion warns of a version outside of the manifest's range.
func (c *conversation) checkProviderVersion(v string) {
	p := c.sess.binding.info.Manifest.Provider
	if v == "" || expects(p, v) {
		return
	}
	c.setProblem(abi.Problem{Code: string(CodeProviderVersion), Field: "session",
		Message: fmt.Sprintf("%s It has version %s; the binding was made for %s to %s.", codeTexts[CodeProviderVersion], v, p.Min, p.Max)})
}

// expects reports whether a version lies in the range a binding is expected to fit.
func expects(p abi.Provider, v string) bool {
	return (p.Min == "" || versionLess(p.Min, v) || p.Min == v) && (p.Max == "" || versionLess(v, p.Max) || p.Max == v)
}

// versionLess compares dotted versions number by number; a missing or
// non-numeric part counts as zero, and a part "x" of an upper bound as infinite.
func versionLess(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	part := func(l []string, i int) int {
		if i >= len(l) {
			return 0
		}
		if l[i] == "x" {
			return 1 << 30
		}
		digits := strings.IndexFunc(l[i], func(r rune) bool { return r < '0' || r > '9' })
		if digits < 0 {
			digits = len(l[i])
		}
		n, _ := strconv.Atoi(l[i][:digits])
		return n
	}
	for i := range max(len(as), len(bs)) {
		if x, y := part(as, i), part(bs, i); x != y {
			return x < y
		}
	}
	return false
}

// collectUnsettled finds the uncertain turns that the session about to open
// might settle, and what the newest turn that ran left: the host may have been
// closed since.
func (c *conversation) collectUnsettled() error {
	c.unsettled = nil
	rows, err := c.h.store.Turns(c.ctx, c.id)
	if err != nil {
		return err
	}
	var last time.Time
	for _, r := range rows {
		if !r.StartedAt.IsZero() && r.EndedAt.After(last) {
			last, c.lastMode = r.EndedAt, ""
			if r.State == store.TurnCompleted {
				c.lastMode = decodeOwn[abi.Settings](r.Settings).Mode
			}
		}
		if r.State != store.TurnUncertain {
			continue
		}
		g, err := c.h.store.Generation(c.ctx, c.id, r.Generation)
		if err != nil || g.NativeSession != c.row.NativeSession || g.ExitedAt.IsZero() {
			continue
		}
		t, err := newTurn(r)
		if err != nil {
			return err
		}
		c.unsettled = append(c.unsettled, t)
	}
	return nil
}

// onHistory settles uncertain deliveries by what the provider proves (rule 20).
// Absence is proof because the old process is known to be gone.
func (c *conversation) onHistory(e *abi.History) {
	var open []*turn
	for _, t := range c.unsettled {
		switch {
		case slices.Contains(e.Found, t.ClientID):
			t.State, t.Evidence = store.TurnInterrupted, "found in the harness's history"
			if t.ErrorCode == string(CodeUncertainDelivery) {
				t.ErrorCode = ""
			}
			c.saveTurn(t)
			c.enrichCard(t)
		case !t.StartedAt.IsZero():
			// The agent had it, whatever its history kept.
			open = append(open, t)
		case e.Complete && c.mayRequeue(t):
			t.EndedAt, t.ErrorCode, t.ErrorMessage = time.Time{}, "", ""
			c.live = append(c.live, t)
			c.sortQueue()
			c.requeue(t, "not in the harness's history, and its process is gone")
			c.enrichCard(t)
		case e.Complete:
			t.State, t.Evidence = store.TurnNotSent, "not in the harness's history, and its process is gone"
			c.saveTurn(t)
			c.enrichCard(t)
			if t.ProposalID != "" && !c.sentAgain(t) {
				c.reopenPlan(t, true)
			}
		default:
			open = append(open, t)
		}
	}
	c.unsettled = open
	if len(open) == 0 && c.row.Held && c.row.HoldReason == string(CodeUncertainDelivery) {
		c.release()
	}
}

// mayRequeue reports whether a turn proven never to have arrived can still run in
// its place: not when a person has sent it again or something after it ran.
func (c *conversation) mayRequeue(t *turn) bool {
	rows, err := c.h.store.Turns(c.ctx, c.id)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(rows, func(r store.Turn) bool {
		return r.RetryOf == t.ID || r.Position > t.Position && r.State != store.TurnQueued && r.State != store.TurnCancelled && r.State != store.TurnUncertain
	})
}

// sentAgain reports whether a person has sent the content of a turn again.
func (c *conversation) sentAgain(t *turn) bool {
	rows, err := c.h.store.Turns(c.ctx, c.id)
	return err == nil && slices.ContainsFunc(rows, func(r store.Turn) bool {
		return r.RetryOf == t.ID && r.State != store.TurnCancelled && r.State != store.TurnNotSent
	})
}

// enrichCard adds what is now known of the answer a turn carried: a disposition that
// was uncertain becomes that of the answer, or the card waits for its turn again, or
// for another answer.
func (c *conversation) enrichCard(t *turn) {
	if t.InteractionID == "" {
		return
	}
	row, err := c.h.store.Interaction(c.ctx, t.InteractionID)
	if err != nil || row.Disposition != string(abi.DispositionUncertain) || row.AnswerTurnID != t.ID {
		return
	}
	k := &card{Interaction: row, ask: decodeOwn[abi.Interaction](row.Body)}
	if t.State == store.TurnInterrupted {
		k.Disposition, k.Evidence = string(answerDisposition(row)), t.Evidence
	} else {
		k.State, k.Disposition, k.Evidence, k.ClosedAt = store.InteractionClaimed, "", "", time.Time{}
		c.cards[k.ID] = k
	}
	if t.State == store.TurnNotSent {
		k.State, k.Reply, k.AnswerTurnID = store.InteractionOpen, nil, ""
	}
	upd := k.Interaction
	c.tx.do(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateInteraction(ctx, upd) })
	c.journalCard(k)
}

// probe is somebody who waits for a session to be ready.
type probe struct {
	ready chan error
	// after is the newest generation that it does not wait for: one that is being ended,
	// or whose start is being given up.
	after int64
}

// Probe starts a session without a submission and returns once its catalog is
// read, so that choices can be offered before the first message (rule 9).
func (h *Host) Probe(ctx context.Context, conversation string) (Controls, error) {
	c, err := h.actor(ctx, conversation)
	if err != nil {
		return Controls{}, err
	}
	ready, err := ask(ctx, c, func() (chan error, error) {
		ready := make(chan error, 1)
		switch {
		case c.closing:
			return nil, &Error{Code: CodeClosed}
		case c.sess != nil && c.sess.state == SessionReady:
			ready <- nil
			return ready, nil
		}
		p := probe{ready: ready}
		if s := c.sess; s != nil && s.ending != "" {
			p.after = s.gen
		} else if l := c.launch; l != nil && l.aborted {
			p.after = l.gen
		}
		c.probes = append(c.probes, p)
		if c.sess == nil && c.launch == nil {
			c.start(true)
		}
		return ready, nil
	})
	if err != nil {
		return Controls{}, err
	}
	select {
	case err = <-ready:
	case <-c.done:
		err = &Error{Code: CodeClosed}
	case <-ctx.Done():
		err = ctx.Err()
	}
	if CodeOf(err) == CodeClosed {
		err = c.ended(ctx)
	}
	if err != nil {
		return Controls{}, err
	}
	return h.Controls(ctx, conversation)
}

// answerProbes lets those go on who wait for this generation, once what they waited
// for is committed and can be seen.
func (c *conversation) answerProbes(e *Error) {
	if len(c.probes) == 0 {
		return
	}
	if e != nil && c.closing {
		// Why the session ended is about the queue; who asked meets a host that ends.
		e = &Error{Code: CodeClosed}
	}
	gen := c.row.Generation
	c.tx.then(func() {
		waiting := c.probes
		c.probes = nil
		c.publish()
		for _, p := range waiting {
			switch {
			case p.after >= gen:
				c.probes = append(c.probes, p)
			case e != nil:
				p.ready <- e
			default:
				p.ready <- nil
			}
		}
	})
}

// probeNext starts the session that those wait for who came while this one was being
// ended, or who met an end that has nothing to do with them (rule 9).
func (c *conversation) probeNext(s *session, cause *Error) {
	if s.ending == endingIdle || s.ending == endingRelaunch {
		for i := range c.probes {
			c.probes[i].after = s.gen
		}
	}
	c.startForNext(s.gen, cause)
}

// startForNext answers those who waited for a generation that is over, and starts the
// next one for those who came while it was being ended.
func (c *conversation) startForNext(gen int64, cause *Error) {
	c.answerProbes(cause)
	if slices.ContainsFunc(c.probes, func(p probe) bool { return p.after == gen }) && c.next() == nil {
		c.start(true)
	}
}
