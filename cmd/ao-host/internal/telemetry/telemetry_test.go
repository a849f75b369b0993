package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

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
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = z
		}
		b, err := io.ReadAll(body)
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
	if !strings.Contains(log.String(), "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") || !strings.Contains(log.String(), "http/protobuf") {
		t.Errorf("logged: %s", log.String())
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
}
