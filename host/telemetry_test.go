package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/aoagents/ao-host/host"
)

// observed keeps the traces and metrics of a host in memory.
type observed struct {
	t       *testing.T
	spans   *tracetest.SpanRecorder
	traces  *trace.TracerProvider
	reader  *metric.ManualReader
	metrics *metric.MeterProvider
}

func observe(t *testing.T) *observed {
	o := &observed{t: t, spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader()}
	o.traces = trace.NewTracerProvider(trace.WithSpanProcessor(o.spans))
	o.metrics = metric.NewMeterProvider(metric.WithReader(o.reader))
	t.Cleanup(func() {
		_ = o.traces.Shutdown(context.Background())
		_ = o.metrics.Shutdown(context.Background())
	})
	return o
}

func (o *observed) use(c *host.Config) { c.TracerProvider, c.MeterProvider = o.traces, o.metrics }

// named are the ended spans of a name, in the order they ended.
func (o *observed) named(name string) (out []trace.ReadOnlySpan) {
	for _, s := range o.spans.Ended() {
		if s.Name() == name {
			out = append(out, s)
		}
	}
	return out
}

func attr(s trace.ReadOnlySpan, key string) string {
	for _, kv := range s.Attributes() {
		if string(kv.Key) == key {
			return kv.Value.String()
		}
	}
	return ""
}

// sum adds up the points of a metric whose attributes hold all pairs: of a counter
// its value, of a histogram its count.
func (o *observed) sum(name string, pairs ...string) (n int64) {
	o.t.Helper()
	var rm metricdata.ResourceMetrics
	if err := o.reader.Collect(context.Background(), &rm); err != nil {
		o.t.Fatal(err)
	}
	holds := func(set attribute.Set) bool {
		for i := 0; i < len(pairs); i += 2 {
			if v, ok := set.Value(attribute.Key(pairs[i])); !ok || v.String() != pairs[i+1] {
				return false
			}
		}
		return true
	}
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			if m.Name != name {
				continue
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					if holds(p.Attributes) {
						n += p.Value
					}
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					if holds(p.Attributes) {
						n += int64(p.Count)
					}
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					if holds(p.Attributes) {
						n += int64(p.Count)
					}
				}
			default:
				o.t.Fatalf("%s is a %T", name, d)
			}
		}
	}
	return n
}

func TestATurnsTraceHoldsItsQueueTimeTheStartAndItsSteps(t *testing.T) {
	t.Parallel()
	o := observe(t)
	r := newRig(t, echo, o.use)
	first := r.send("Go")
	r.untilTurn(first.ID, host.TurnCompleted)
	second := r.send("Again")
	r.untilTurn(second.ID, host.TurnCompleted)

	turns := o.named("ao_host.turn")
	if len(turns) != 2 {
		t.Fatalf("%d traces of turns", len(turns))
	}
	for i, turn := range turns {
		id := []string{first.ID, second.ID}[i]
		if turn.Parent().IsValid() {
			t.Error("a turn is no trace of its own")
		}
		for key, want := range map[string]string{
			"ao_host.turn": id, "ao_host.conversation": r.conv, "ao_host.harness": "codex", "ao_host.generation": "1",
			"ao_host.origin": "user", "ao_host.state": "completed", "ao_host.code": "",
		} {
			if got := attr(turn, key); got != want {
				t.Errorf("%s is %q, want %q", key, got, want)
			}
		}
		if row := r.turn(id); !turn.StartTime().Equal(row.AcceptedAt) || turn.EndTime().Before(*row.StartedAt) {
			t.Errorf("it lasts from %v to %v, the turn was accepted at %v", turn.StartTime(), turn.EndTime(), row.AcceptedAt)
		}
		children := map[string]int{}
		for _, s := range o.spans.Ended() {
			if s.Parent().SpanID() != turn.SpanContext().SpanID() {
				continue
			}
			children[s.Name()]++
			if s.EndTime().Before(s.StartTime()) || s.EndTime().After(turn.EndTime()) {
				t.Errorf("%s from %v to %v, the turn ends at %v", s.Name(), s.StartTime(), s.EndTime(), turn.EndTime())
			}
			if s.Name() == "ao_host.step" && attr(s, "ao_host.fuel") == "0" {
				t.Error("a step used no fuel")
			}
		}
		if children["ao_host.queue"] != 1 || children["ao_host.session.start"] != 1-i || children["ao_host.step"] < 3 {
			t.Errorf("turn %d has the children %v", i+1, children)
		}
		if attr(turn, "ao_host.steps") != fmt.Sprint(children["ao_host.step"]) {
			t.Errorf("%s steps, %d spans", attr(turn, "ao_host.steps"), children["ao_host.step"])
		}
	}
	for name, want := range map[string]int64{"ao_host.turn.duration": 2, "ao_host.turn.queue_wait": 2, "ao_host.session.start.duration": 1} {
		if got := o.sum(name, "ao_host.harness", "codex"); got != want {
			t.Errorf("%s has %d values, want %d", name, got, want)
		}
	}
	if n := o.sum("ao_host.step.fuel", "ao_host.event", "submit"); n != 2 {
		t.Errorf("%d steps of submissions were measured", n)
	}
	if n := o.sum("ao_host.step.duration", "ao_host.event", "notification"); n < 4 {
		t.Errorf("%d steps of notifications were measured", n)
	}
}

func TestATurnOfManyStepsHasABoundedTrace(t *testing.T) {
	t.Parallel()
	o := observe(t)
	r := newRig(t, `{"turns":[{"repeat":true,"steps":[`+burst(3000, 10)+`]}]}`, o.use)
	r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	if n := len(o.named("ao_host.step")); n != 100 {
		t.Errorf("%d spans of steps", n)
	}
	var steps int
	_, _ = fmt.Sscan(attr(o.named("ao_host.turn")[0], "ao_host.steps"), &steps)
	if steps < 3000 {
		t.Errorf("%d steps were counted", steps)
	}
}

func TestATurnIsLinkedToTheRequestThatMadeIt(t *testing.T) {
	t.Parallel()
	o := observe(t)
	r := newRig(t, echo, o.use)
	ctx, span := o.traces.Tracer("test").Start(t.Context(), "request")
	turn, err := r.h.Send(ctx, r.conv, host.Message{Content: host.Text("Go")})
	span.End()
	if err != nil {
		t.Fatal(err)
	}
	r.untilTurn(turn.ID, host.TurnCompleted)
	links := o.named("ao_host.turn")[0].Links()
	if len(links) != 1 || links[0].SpanContext.TraceID() != span.SpanContext().TraceID() {
		t.Errorf("links %v", links)
	}
}

func TestAStartThatFailsIsATraceOfItsOwn(t *testing.T) {
	t.Parallel()
	o := observe(t)
	r := newRig(t, echo, o.use, func(c *host.Config) { c.Launch, c.Env = nil, []string{"PATH=" + t.TempDir()} })
	r.send("Go")
	r.problem(host.CodeHarnessNotFound)
	r.until("the trace", func() bool { return len(o.named("ao_host.session.start")) == 1 })
	s := o.named("ao_host.session.start")[0]
	if s.Status().Code != codes.Error || attr(s, "ao_host.code") != string(host.CodeHarnessNotFound) || s.Parent().IsValid() {
		t.Errorf("%v %v", s.Status(), s.Attributes())
	}
	if len(o.named("ao_host.turn")) != 0 {
		t.Error("a turn that was never handed over has a trace")
	}
}

func TestATurnThatFailsSaysSoInItsTrace(t *testing.T) {
	t.Parallel()
	o := observe(t)
	r := newRig(t, loud, o.use)
	r.untilTurn(r.send("fail").ID, host.TurnFailed)
	s := o.named("ao_host.turn")[0]
	if s.Status().Code != codes.Error || attr(s, "ao_host.state") != "failed" {
		t.Errorf("%v %v", s.Status(), s.Attributes())
	}
}

func TestViolationsDroppedLinesAndFaultsAreCounted(t *testing.T) {
	t.Parallel()
	o := observe(t)
	r := newRogueRigWith(t, loud, []func(*host.Config){o.use, func(c *host.Config) { c.MaxLine = 200_000 }})
	r.conv = r.createOn("codex")
	talk := r.send("talk")
	r.untilQuestion()
	if n := o.sum("ao_host.schema.violations", "ao_host.direction", "inbound"); n == 0 {
		t.Error("no violation was counted")
	}
	if n := o.sum("ao_host.lines.dropped", "ao_host.reason", "junk"); n != 1 {
		t.Errorf("%d junk lines", n)
	}
	if _, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{Turn: talk.ID}); err != nil {
		t.Fatal(err)
	}
	r.untilTurn(talk.ID, host.TurnInterrupted)
	r.untilTurn(r.send("huge").ID, host.TurnCompleted)
	if n := o.sum("ao_host.lines.dropped", "ao_host.reason", "oversize"); n != 1 {
		t.Errorf("%d long lines", n)
	}
	r.conv = r.createOn("rogue")
	r.send("trap")
	r.until("the fault to be counted", func() bool { return o.sum("ao_host.binding.faults", "ao_host.reason", "trap") == 1 })
}

// createOn makes another conversation on a harness.
func (r *rig) createOn(harness string) string {
	r.t.Helper()
	c, err := r.h.Create(r.t.Context(), host.NewConversation{Harness: harness, Cwd: r.cwd})
	if err != nil {
		r.t.Fatal(err)
	}
	return c.ID
}

func TestTracesAndMetricsHoldNoTextOfTheHarnessOrThePerson(t *testing.T) {
	t.Parallel()
	o := observe(t)
	r := newRig(t, loud, o.use, func(c *host.Config) { c.MaxLine = 200_000 })
	r.send("talk " + canary)
	r.untilQuestion()
	if _, err := r.h.Stop(t.Context(), r.conv, host.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	r.until("the end", func() bool { return r.controls().Running == nil })
	r.untilTurn(r.send("fail "+canary).ID, host.TurnFailed)
	r.untilTurn(r.send("die "+canary).ID, host.TurnFailed)
	r.close()
	for _, s := range o.spans.Ended() {
		text := fmt.Sprint(s.Name(), s.Attributes(), s.Status(), s.Events(), s.Links())
		if strings.Contains(text, canary) || strings.Contains(text, r.cwd) || strings.Contains(text, r.home) {
			t.Errorf("span %s", text)
		}
	}
	if len(o.named("ao_host.turn")) != 3 {
		t.Errorf("%d turns", len(o.named("ao_host.turn")))
	}
	var rm metricdata.ResourceMetrics
	if err := o.reader.Collect(context.Background(), &rm); err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v", rm.ScopeMetrics); strings.Contains(text, canary) {
		t.Error("a metric holds text of the harness")
	}
}

func TestWithoutProvidersThereIsNoTelemetry(t *testing.T) {
	t.Parallel()
	// Only one of them is enough to measure, and the other may be missing.
	for _, which := range []string{"traces", "metrics"} {
		t.Run(which, func(t *testing.T) {
			o := observe(t)
			r := newRig(t, echo, func(c *host.Config) {
				if which == "traces" {
					c.TracerProvider = o.traces
				} else {
					c.MeterProvider = o.metrics
				}
			})
			r.untilTurn(r.send("Go").ID, host.TurnCompleted)
			traced, measured := len(o.named("ao_host.turn")) == 1, o.sum("ao_host.turn.duration") == 1
			if got := []bool{traced, measured}; !slices.Equal(got, []bool{which == "traces", which == "metrics"}) {
				t.Errorf("traced and measured: %v", got)
			}
		})
	}
}

func TestTheDocumentNamesEverySpanAndMetric(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("telemetry.go")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join("..", "docs", "observability.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)(?:^\tspan\w+ += |\bm\.\w+\()"(ao_host\.[a-z_.]+)"`).FindAllSubmatch(source, -1)
	if len(names) < 12 {
		t.Fatalf("only %d names are found in the source", len(names))
	}
	for _, n := range names {
		if !strings.Contains(string(doc), "`"+string(n[1])+"`") {
			t.Errorf("docs/observability.md does not name %s", n[1])
		}
	}
}
