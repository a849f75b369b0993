package host

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/store"
)

// maxStepSpans bounds the steps of a turn that get a span of their own: a streamed
// answer has tens of thousands. All of them are counted in the metrics.
const maxStepSpans = 100

// turnWatch is the trace of a turn, from its hand-over to its end. What came before
// is told with the times from the store, so that a turn that waited for days, or over
// a restart, holds no open span.
type turnWatch struct {
	ctx     context.Context
	span    trace.Span
	claimed time.Time
	steps   int64
	fuel    int64
}

// sessionWatch is what the metrics of a session need, made once.
type sessionWatch struct {
	began time.Time
	// ready is zero until the session can be used; told says that a turn's trace has
	// the start.
	ready time.Time
	told  bool
	// steps are the labels of the steps by the kind of their event.
	steps map[string][]metric.RecordOption
}

// watchTurn begins the trace of a turn that is handed to the binding.
func (c *conversation) watchTurn(t *turn) {
	tel := c.h.tel
	if tel == nil {
		return
	}
	now := c.h.now()
	w := &turnWatch{claimed: now}
	w.ctx, w.span = tel.tracer.Start(context.Background(), spanTurn, trace.WithTimestamp(t.AcceptedAt), trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithLinks(t.links...), trace.WithAttributes(
			keyHarness.String(c.row.Harness), keyConversation.String(c.id), keyTurn.String(t.ID), keyGeneration.Int64(c.sess.gen),
			keyOrigin.String(t.Origin), keyPermission.String(string(t.settings.Permission))))
	tel.span(w.ctx, spanQueue, t.AcceptedAt, now)
	tel.queueWait.Record(w.ctx, seconds(t.AcceptedAt, now), labels(keyHarness.String(c.row.Harness), keyOrigin.String(t.Origin)))
	if s := c.sess; s.watch != nil && !s.watch.told && !s.watch.ready.IsZero() {
		s.watch.told = true
		tel.span(w.ctx, spanStart, s.watch.began, s.watch.ready, keyGeneration.Int64(s.gen))
	}
	t.watch = w
}

// linksOf leads from a turn's trace to that of the request that made it. The turn is
// no child of it: it may run much later.
func (c *conversation) linksOf(ctx context.Context) []trace.Link {
	if c.h.tel == nil || !trace.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	return []trace.Link{trace.LinkFromContext(ctx)}
}

// unwatchTurn ends the trace of a turn, in the state that it has now.
func (c *conversation) unwatchTurn(t *turn) {
	w := t.watch
	if w == nil {
		return
	}
	t.watch = nil
	now := c.h.now()
	code := knownCode(t.ErrorCode)
	w.span.SetAttributes(keyState.String(string(t.State)), keyCode.String(code), keySteps.Int64(w.steps), keyFuel.Int64(w.fuel))
	switch t.State {
	case store.TurnFailed, store.TurnUncertain, store.TurnNotSent:
		w.span.SetStatus(codes.Error, code)
	}
	w.span.End(trace.WithTimestamp(now))
	c.h.tel.turnDuration.Record(w.ctx, seconds(w.claimed, now),
		labels(keyHarness.String(c.row.Harness), keyState.String(string(t.State)), keyCode.String(code)))
}

// span tells a part of a trace that is over.
func (tel *telemetry) span(ctx context.Context, name string, from, to time.Time, attrs ...attribute.KeyValue) {
	if to.Before(from) {
		// The machine's clock was set back meanwhile.
		to = from
	}
	_, span := tel.tracer.Start(ctx, name, trace.WithTimestamp(from), trace.WithAttributes(attrs...))
	span.End(trace.WithTimestamp(to))
}

// watchSession begins to measure a session that starts.
func (c *conversation) watchSession(began time.Time) *sessionWatch {
	if c.h.tel == nil {
		return nil
	}
	return &sessionWatch{began: began, steps: map[string][]metric.RecordOption{}}
}

// watchReady measures the start of a session that is ready.
func (c *conversation) watchReady(w *sessionWatch) {
	if w == nil {
		return
	}
	w.ready = c.h.now()
	c.h.tel.startDuration.Record(c.ctx, seconds(w.began, w.ready), labels(keyHarness.String(c.row.Harness), keyCode.String("")))
}

// watchNoStart tells of a start that came to nothing: no turn's trace will have it.
func (c *conversation) watchNoStart(began time.Time, gen int64, code Code) {
	tel := c.h.tel
	if tel == nil {
		return
	}
	now := c.h.now()
	tel.startDuration.Record(c.ctx, seconds(began, now), labels(keyHarness.String(c.row.Harness), keyCode.String(string(code))))
	_, span := tel.tracer.Start(context.Background(), spanStart, trace.WithTimestamp(began), trace.WithAttributes(
		keyHarness.String(c.row.Harness), keyConversation.String(c.id), keyGeneration.Int64(gen), keyCode.String(string(code))))
	span.SetStatus(codes.Error, string(code))
	span.End(trace.WithTimestamp(now))
}

// watchStep measures one step of the binding, which began at a time of the machine's
// own clock: the host's may stand still.
func (c *conversation) watchStep(s *session, ev *abi.Event, size int, began time.Time, fuel int64, failed bool) {
	tel, took := c.h.tel, time.Since(began)
	kind := eventKind(ev)
	opts := s.watch.steps[kind]
	if opts == nil {
		opts = []metric.RecordOption{labels(keyHarness.String(c.row.Harness), keyEvent.String(kind))}
		s.watch.steps[kind] = opts
	}
	ctx := c.ctx
	if t := c.running; t != nil && t.watch != nil {
		w := t.watch
		ctx = w.ctx
		w.steps++
		w.fuel += fuel
		if w.steps <= maxStepSpans && w.span.IsRecording() {
			at := c.h.now()
			_, span := tel.tracer.Start(ctx, spanStep, trace.WithTimestamp(at.Add(-took)), trace.WithAttributes(
				keyEvent.String(kind), keyFuel.Int64(fuel), keyBytes.Int(size)))
			if failed {
				span.SetStatus(codes.Error, string(CodeBindingFault))
			}
			span.End(trace.WithTimestamp(at))
		}
	}
	tel.stepDuration.Record(ctx, took.Seconds(), opts...)
	tel.stepFuel.Record(ctx, fuel, opts...)
}

// eventKind names the member of an event that is set.
func eventKind(ev *abi.Event) string {
	switch {
	case ev.Message != nil:
		return string(ev.Message.Type)
	case ev.Open != nil:
		return "open"
	case ev.Submit != nil:
		return "submit"
	case ev.Answer != nil:
		return "answer"
	case ev.Withdraw != nil:
		return "withdraw"
	case ev.Steer != nil:
		return "steer"
	case ev.Stop != nil:
		return "stop"
	case ev.Timer != nil:
		return "timer"
	case ev.Exited != nil:
		return "exited"
	}
	return "close"
}

// countViolation counts a frame that does not fit its schema; direction is
// "inbound" or "outbound".
func (c *conversation) countViolation(direction string) {
	if tel := c.h.tel; tel != nil {
		tel.violations.Add(c.ctx, 1, labels(keyHarness.String(c.row.Harness), keyDirection.String(direction)))
	}
}

// countDropped counts a line that was skipped.
func (c *conversation) countDropped(reason string) {
	if tel := c.h.tel; tel != nil {
		tel.dropped.Add(c.ctx, 1, labels(keyHarness.String(c.row.Harness), keyReason.String(reason)))
	}
}

// countFault counts a fault of the binding.
func (c *conversation) countFault(kind string) {
	if tel := c.h.tel; tel != nil {
		tel.faults.Add(c.ctx, 1, labels(keyHarness.String(c.row.Harness), keyReason.String(kind)))
	}
}

// countSubscriber counts a client that did not read its stream.
func (h *Host) countSubscriber() {
	if h.tel != nil {
		h.tel.subscribers.Add(context.Background(), 1)
	}
}
