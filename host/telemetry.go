package host

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// telemetry holds the instruments of a host. It is nil when no provider was
// configured; every use of it says so and costs one comparison then. Nothing in a
// span or a metric is text of a harness or a person: ids, codes and numbers only.
type telemetry struct {
	tracer trace.Tracer

	turnDuration  metric.Float64Histogram
	queueWait     metric.Float64Histogram
	startDuration metric.Float64Histogram
	stepDuration  metric.Float64Histogram
	stepFuel      metric.Int64Histogram
	violations    metric.Int64Counter
	dropped       metric.Int64Counter
	faults        metric.Int64Counter
	subscribers   metric.Int64Counter
}

// The names of spans and of the attributes on spans and metrics.
const (
	spanTurn  = "ao_host.turn"
	spanQueue = "ao_host.queue"
	spanStart = "ao_host.session.start"
	spanStep  = "ao_host.step"

	keyHarness      = attribute.Key("ao_host.harness")
	keyConversation = attribute.Key("ao_host.conversation")
	keyTurn         = attribute.Key("ao_host.turn")
	keyGeneration   = attribute.Key("ao_host.generation")
	keyOrigin       = attribute.Key("ao_host.origin")
	keyPermission   = attribute.Key("ao_host.permission")
	keyState        = attribute.Key("ao_host.state")
	keyCode         = attribute.Key("ao_host.code")
	keyEvent        = attribute.Key("ao_host.event")
	keyFuel         = attribute.Key("ao_host.fuel")
	keySteps        = attribute.Key("ao_host.steps")
	keyBytes        = attribute.Key("ao_host.bytes")
	keyDirection    = attribute.Key("ao_host.direction")
	keyReason       = attribute.Key("ao_host.reason")
)

// The bounds of the histograms, in seconds and in units of fuel.
var (
	longSeconds  = []float64{0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600}
	shortSeconds = []float64{1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 5e-3, 2e-2, 0.1, 1}
	fuelUnits    = []float64{1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 1e7, 1e8, 1e9}
)

// newTelemetry makes the instruments, or nil where neither provider is given.
func newTelemetry(cfg Config) *telemetry {
	traces, metrics := cfg.TracerProvider, cfg.MeterProvider
	if traces == nil && metrics == nil {
		return nil
	}
	if traces == nil {
		traces = tracenoop.NewTracerProvider()
	}
	if metrics == nil {
		metrics = metricnoop.NewMeterProvider()
	}
	const scope = modulePath + "/host"
	m := instruments{metrics.Meter(scope, metric.WithInstrumentationVersion(Version()))}
	return &telemetry{
		tracer:        traces.Tracer(scope, trace.WithInstrumentationVersion(Version())),
		turnDuration:  m.seconds("ao_host.turn.duration", "From the hand-over of a turn to its end.", longSeconds),
		queueWait:     m.seconds("ao_host.turn.queue_wait", "From the acceptance of a turn to its hand-over.", longSeconds),
		startDuration: m.seconds("ao_host.session.start.duration", "From the decision to start a session to its being ready.", longSeconds),
		stepDuration:  m.seconds("ao_host.step.duration", "How long the binding took over one event.", shortSeconds),
		stepFuel:      m.fuel("ao_host.step.fuel", "What the binding used for one event, in loop iterations and calls."),
		violations:    m.counter("ao_host.schema.violations", "Frames that do not fit the provider's schema.", "{frame}"),
		dropped:       m.counter("ao_host.lines.dropped", "Lines of a harness that were skipped.", "{line}"),
		faults:        m.counter("ao_host.binding.faults", "Bindings that trapped, ran out of fuel or said something unreadable.", "{fault}"),
		subscribers:   m.counter("ao_host.subscribers.dropped", "Clients that did not read their event stream.", "{client}"),
	}
}

// instruments makes instruments. A name or bound that a provider refuses is a
// mistake of this file; what it returns with the error is still usable.
type instruments struct{ metric.Meter }

func (m instruments) seconds(name, what string, bounds []float64) metric.Float64Histogram {
	h, _ := m.Float64Histogram(name, metric.WithDescription(what), metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(bounds...))
	return h
}

func (m instruments) fuel(name, what string) metric.Int64Histogram {
	h, _ := m.Int64Histogram(name, metric.WithDescription(what), metric.WithUnit("{unit}"), metric.WithExplicitBucketBoundaries(fuelUnits...))
	return h
}

func (m instruments) counter(name, what, unit string) metric.Int64Counter {
	c, _ := m.Int64Counter(name, metric.WithDescription(what), metric.WithUnit(unit))
	return c
}

// labels are attributes of a metric, made once.
func labels(kvs ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(kvs...))
}

func seconds(from, to time.Time) float64 { return max(0, to.Sub(from).Seconds()) }
