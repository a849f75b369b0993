package telemetry_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	otelmetric "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	metricpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/aoagents/ao-host/cmd/ao-host/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector takes what is exported.
type collector struct {
	*httptest.Server
	mu   sync.Mutex
	got  map[string]string
	head http.Header
}

func collect(t *testing.T) *collector {
	c := &collector{got: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.got[r.URL.Path] += string(b)
		c.head = r.Header
	}))
	t.Cleanup(func() {
		c.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return c
}

func (c *collector) at(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got[path]
}

// use does what a host does with its providers.
func use(t *testing.T, p telemetry.Providers) {
	t.Helper()
	if p.Traces != nil {
		_, span := p.Traces.Tracer("test").Start(t.Context(), "a-span")
		span.End()
	}
	if p.Metrics != nil {
		c, err := p.Metrics.Meter("test").Int64Counter("a-counter")
		if err != nil {
			t.Fatal(err)
		}
		c.Add(t.Context(), 1)
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestNothingIsMadeUnlessTheEnvironmentAsksForIt(t *testing.T) {
	for _, set := range []map[string]string{
		{},
		{"OTEL_SERVICE_NAME": "x", "OTEL_EXPORTER_OTLP_HEADERS": "a=b"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
	} {
		p := telemetry.Start(t.Context(), func(n string) string { return set[n] }, "1", slog.New(slog.DiscardHandler))
		if p.Traces != nil || p.Metrics != nil {
			t.Errorf("%v: %+v", set, p)
		}
		use(t, p)
	}
}

func TestTracesAndMetricsGoWhereTheEnvironmentSays(t *testing.T) {
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
	p := telemetry.Start(t.Context(), os.Getenv, "1.2.3", slog.New(slog.DiscardHandler))
	use(t, p)
	if c.head.Get("Content-Type") != "application/json" {
		t.Error(c.head)
	}
	for path, want := range map[string]string{"/v1/traces": "a-span", "/v1/metrics": "a-counter"} {
		got := c.at(path)
		for _, part := range []string{want, "ao-host", "1.2.3", "deployment.environment"} {
			if !strings.Contains(got, part) {
				t.Errorf("%s holds no %q: %q", path, part, got)
			}
		}
		// The machine and the user are nobody's business.
		host, _ := os.Hostname()
		for _, part := range []string{"host.name", "process.", host} {
			if part != "" && strings.Contains(got, part) {
				t.Errorf("%s holds %q", path, part)
			}
		}
	}
	if c.head.Get("Authorization") != "Bearer abc" {
		t.Error("the headers of the environment are not sent")
	}
}

func TestAProtocolThatIsNotSpokenIsToldAndTheRestWorks(t *testing.T) {
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc")
	var log bytes.Buffer
	p := telemetry.Start(t.Context(), os.Getenv, "1", slog.New(slog.NewTextHandler(&log, nil)))
	if p.Traces != nil || p.Metrics == nil {
		t.Errorf("%+v", p)
	}
	use(t, p)
	if !strings.Contains(log.String(), "OTEL_EXPORTER_OTLP_PROTOCOL") || !strings.Contains(log.String(), "http/json") {
		t.Errorf("logged: %s", log.String())
	}
}

// What is sent must be what OpenTelemetry's own definitions read, member by member.
func TestWhatIsSentIsOTLP(t *testing.T) {
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL+"/")
	p := telemetry.Start(t.Context(), os.Getenv, "1.2.3", slog.New(slog.DiscardHandler))
	tracer := p.Traces.Tracer("scope", trace.WithInstrumentationVersion("0.1"))
	ctx, parent := tracer.Start(t.Context(), "parent", trace.WithAttributes(attribute.String("s", "\"x\""), attribute.Int64("i", 1<<60), attribute.Bool("b", true), attribute.Float64("f", 0.5)))
	_, child := tracer.Start(ctx, "child", trace.WithLinks(trace.LinkFromContext(ctx)))
	child.SetStatus(codes.Error, "a_code")
	child.End()
	parent.End()
	meter := p.Metrics.Meter("scope")
	n, err := meter.Int64Counter("n", otelmetric.WithUnit("{x}"), otelmetric.WithDescription("Counts."))
	if err != nil {
		t.Fatal(err)
	}
	h, err := meter.Float64Histogram("h", otelmetric.WithExplicitBucketBoundaries(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	u, err := meter.Int64Histogram("u", otelmetric.WithExplicitBucketBoundaries(10))
	if err != nil {
		t.Fatal(err)
	}
	n.Add(ctx, 7, otelmetric.WithAttributes(attribute.String("k", "v")))
	h.Record(ctx, 1.5)
	h.Record(ctx, 5)
	u.Record(ctx, 3)
	if err := p.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	var traces tracepb.ExportTraceServiceRequest
	if err := protojson.Unmarshal([]byte(c.at("/v1/traces")), &traces); err != nil {
		t.Fatalf("%v in %s", err, c.at("/v1/traces"))
	}
	rs := traces.ResourceSpans[0]
	spans := rs.ScopeSpans[0].Spans
	if len(spans) != 2 || rs.ScopeSpans[0].Scope.Name != "scope" || rs.ScopeSpans[0].Scope.Version != "0.1" {
		t.Fatalf("%v", rs)
	}
	// JSON has the ids in hexadecimal, which protojson reads as base64.
	for _, part := range []string{
		`"traceId":"` + parent.SpanContext().TraceID().String() + `"`, `"parentSpanId":"` + parent.SpanContext().SpanID().String() + `"`,
	} {
		if !strings.Contains(c.at("/v1/traces"), part) {
			t.Errorf("no %s", part)
		}
	}
	got, root := spans[0], spans[1]
	if got.Name != "child" || got.Status.Code != 2 || got.Status.Message != "a_code" || len(got.Links) != 1 || got.Kind != 1 || root.EndTimeUnixNano < root.StartTimeUnixNano || root.StartTimeUnixNano == 0 || len(root.ParentSpanId) != 0 {
		t.Errorf("%v", spans)
	}
	if a := root.Attributes; a[0].Value.GetStringValue() != `"x"` || a[1].Value.GetIntValue() != 1<<60 || !a[2].Value.GetBoolValue() || a[3].Value.GetDoubleValue() != 0.5 {
		t.Errorf("%v", a)
	}
	var metrics metricpb.ExportMetricsServiceRequest
	if err := protojson.Unmarshal([]byte(c.at("/v1/metrics")), &metrics); err != nil {
		t.Fatalf("%v in %s", err, c.at("/v1/metrics"))
	}
	ms := metrics.ResourceMetrics[0].ScopeMetrics[0].Metrics
	if len(ms) != 3 {
		t.Fatalf("%v", ms)
	}
	if s := ms[0].GetSum(); !s.IsMonotonic || s.AggregationTemporality != 2 || s.DataPoints[0].GetAsInt() != 7 || s.DataPoints[0].Attributes[0].Value.GetStringValue() != "v" || ms[0].Unit != "{x}" {
		t.Errorf("%v", ms[0])
	}
	if d := ms[1].GetHistogram().DataPoints[0]; d.Count != 2 || d.GetSum() != 6.5 || !slices.Equal(d.BucketCounts, []uint64{0, 1, 1}) || !slices.Equal(d.ExplicitBounds, []float64{1, 2}) || d.StartTimeUnixNano == 0 {
		t.Errorf("%v", d)
	}
	if d := ms[2].GetHistogram().DataPoints[0]; d.Count != 1 || d.GetSum() != 3 {
		t.Errorf("%v", d)
	}
}

func TestASignalCanHaveAnEndpointOfItsOwnAndABadOneIsTold(t *testing.T) {
	c := collect(t)
	env := map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": c.URL + "/own/path", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "127.0.0.1:4318"}
	var log bytes.Buffer
	p := telemetry.Start(t.Context(), func(n string) string { return env[n] }, "1", slog.New(slog.NewTextHandler(&log, nil)))
	if p.Traces == nil || p.Metrics != nil || !strings.Contains(log.String(), "127.0.0.1:4318") {
		t.Errorf("%+v %s", p, log.String())
	}
	use(t, p)
	if !strings.Contains(c.at("/own/path"), "a-span") {
		t.Error("the span did not arrive")
	}
}

// A refusal is an error of the exporter, which logs it; the program goes on.
func TestARefusalOfTheCollectorIsLogged(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer srv.Close()
	env := map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": srv.URL}
	var log bytes.Buffer
	p := telemetry.Start(t.Context(), func(n string) string { return env[n] }, "1", slog.New(slog.NewTextHandler(&log, nil)))
	_, span := p.Traces.Tracer("test").Start(t.Context(), "a-span")
	span.End()
	err := p.Shutdown(context.Background())
	if text := log.String() + fmt.Sprint(err); !strings.Contains(text, "403") {
		t.Errorf("it is told nowhere: %s", text)
	}
}

// An embedder of the library brings its own SDK, or none.
func TestTheLibraryDoesNotLinkTheSDK(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/aoagents/ao-host/host", "github.com/aoagents/ao-host/api/client").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "go.opentelemetry.io/otel/trace\n") {
		t.Error("it does not even link the interfaces; is this the right question?")
	}
	for line := range strings.Lines(string(out)) {
		for _, part := range []string{"otel/sdk", "otel/exporters", "google.golang.org/"} {
			if strings.Contains(line, part) {
				t.Errorf("the library links %s", line)
			}
		}
	}
	out, err = exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/aoagents/ao-host/cmd/ao-host").CombinedOutput()
	if err != nil || strings.Contains(string(out), "google.golang.org/") {
		t.Errorf("the program links gRPC or protobuf (%v)", err)
	}
}
