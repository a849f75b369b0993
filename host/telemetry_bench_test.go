package host_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/aoagents/ao-host/host"
)

// BenchmarkTelemetry is the pipeline of small deltas without and with measuring it:
// without, it must cost what the pipeline costs.
func BenchmarkTelemetry(b *testing.B) {
	for _, with := range []string{"off", "on"} {
		b.Run(with, func(b *testing.B) {
			r := newBenchRig(b, `{"turns":[{"repeat":true,"steps":[`+burst(b.N, 100)+`]}]}`, func(c *host.Config) {
				if with == "on" {
					c.TracerProvider = trace.NewTracerProvider()
					c.MeterProvider = metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
				}
			})
			if _, err := r.h.Probe(b.Context(), r.conv); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			start := time.Now()
			r.untilTurnSoon(r.send("Go").ID)
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "deltas/s")
		})
	}
}
