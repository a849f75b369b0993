package telemetry

import (
	"context"
	"fmt"
	"strconv"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// metricExporter sends metrics as totals since the start, so that one that is lost
// is made up for by the next.
type metricExporter struct{ *sender }

// cumulative is AGGREGATION_TEMPORALITY_CUMULATIVE.
const cumulative = 2

type jsonPoint struct {
	Attributes []jsonAttribute `json:"attributes,omitempty"`
	Start      string          `json:"startTimeUnixNano"`
	Time       string          `json:"timeUnixNano"`
	Int        string          `json:"asInt"`
}

type jsonSum struct {
	Points      []jsonPoint `json:"dataPoints"`
	Temporality int         `json:"aggregationTemporality"`
	Monotonic   bool        `json:"isMonotonic"`
}

type jsonBuckets struct {
	Attributes []jsonAttribute `json:"attributes,omitempty"`
	Start      string          `json:"startTimeUnixNano"`
	Time       string          `json:"timeUnixNano"`
	Count      string          `json:"count"`
	Sum        float64         `json:"sum"`
	Counts     []string        `json:"bucketCounts"`
	Bounds     []float64       `json:"explicitBounds"`
}

type jsonHistogram struct {
	Points      []jsonBuckets `json:"dataPoints"`
	Temporality int           `json:"aggregationTemporality"`
}

type jsonMetric struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Unit        string         `json:"unit,omitempty"`
	Sum         *jsonSum       `json:"sum,omitempty"`
	Histogram   *jsonHistogram `json:"histogram,omitempty"`
}

type jsonScopeMetrics struct {
	Scope   jsonScope    `json:"scope"`
	Metrics []jsonMetric `json:"metrics"`
}

type jsonResourceMetrics struct {
	Resource     jsonResource       `json:"resource"`
	ScopeMetrics []jsonScopeMetrics `json:"scopeMetrics"`
}

// Temporality is cumulative for every instrument.
func (metricExporter) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality {
	return metricdata.CumulativeTemporality
}

// Aggregation is the SDK's own choice.
func (metricExporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

// Export sends what was gathered. The host has counters and histograms only;
// another kind is an error.
func (e metricExporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	out := jsonResourceMetrics{Resource: resourceOf(rm.Resource)}
	for _, sm := range rm.ScopeMetrics {
		js := jsonScopeMetrics{Scope: scopeOf(sm.Scope)}
		for _, m := range sm.Metrics {
			jm := jsonMetric{Name: m.Name, Description: m.Description, Unit: m.Unit}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				jm.Sum = sumOf(d)
			case metricdata.Histogram[int64]:
				jm.Histogram = histogramOf(d)
			case metricdata.Histogram[float64]:
				jm.Histogram = histogramOf(d)
			default:
				return fmt.Errorf("the metric %s is a %T, which is not exported", m.Name, m.Data)
			}
			js.Metrics = append(js.Metrics, jm)
		}
		out.ScopeMetrics = append(out.ScopeMetrics, js)
	}
	if len(out.ScopeMetrics) == 0 {
		return nil
	}
	return e.send(ctx, map[string]any{"resourceMetrics": []jsonResourceMetrics{out}})
}

func sumOf(d metricdata.Sum[int64]) *jsonSum {
	out := &jsonSum{Temporality: cumulative, Monotonic: d.IsMonotonic}
	for _, p := range d.DataPoints {
		out.Points = append(out.Points, jsonPoint{attributesOf(p.Attributes.ToSlice()), nanos(p.StartTime), nanos(p.Time), strconv.FormatInt(p.Value, 10)})
	}
	return out
}

func histogramOf[N int64 | float64](d metricdata.Histogram[N]) *jsonHistogram {
	out := &jsonHistogram{Temporality: cumulative}
	for _, p := range d.DataPoints {
		b := jsonBuckets{
			Attributes: attributesOf(p.Attributes.ToSlice()), Start: nanos(p.StartTime), Time: nanos(p.Time),
			Count: strconv.FormatUint(p.Count, 10), Sum: float64(p.Sum), Bounds: p.Bounds,
		}
		for _, n := range p.BucketCounts {
			b.Counts = append(b.Counts, strconv.FormatUint(n, 10))
		}
		out.Points = append(out.Points, b)
	}
	return out
}

// ForceFlush has nothing to do: Export sends at once.
func (metricExporter) ForceFlush(context.Context) error { return nil }

// Shutdown closes the connections.
func (e metricExporter) Shutdown(context.Context) error {
	e.close()
	return nil
}
