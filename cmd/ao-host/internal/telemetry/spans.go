package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// spanExporter sends spans.
type spanExporter struct{ *sender }

type jsonSpan struct {
	TraceID    string          `json:"traceId"`
	SpanID     string          `json:"spanId"`
	Parent     string          `json:"parentSpanId,omitempty"`
	Name       string          `json:"name"`
	Kind       int             `json:"kind"`
	Start      string          `json:"startTimeUnixNano"`
	End        string          `json:"endTimeUnixNano"`
	Attributes []jsonAttribute `json:"attributes,omitempty"`
	Links      []jsonLink      `json:"links,omitempty"`
	Status     jsonStatus      `json:"status"`
}

type jsonLink struct {
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId"`
}

type jsonStatus struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// The numbers of Status.StatusCode in OTLP, which are not those of the API.
const (
	statusOK    = 1
	statusError = 2
)

type jsonScopeSpans struct {
	Scope jsonScope  `json:"scope"`
	Spans []jsonSpan `json:"spans"`
}

type jsonResourceSpans struct {
	Resource   jsonResource     `json:"resource"`
	ScopeSpans []jsonScopeSpans `json:"scopeSpans"`
}

// ExportSpans sends spans. A provider has one resource, so all of them share it.
func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	out := jsonResourceSpans{Resource: resourceOf(spans[0].Resource())}
	at := map[jsonScope]int{}
	for _, s := range spans {
		scope := scopeOf(s.InstrumentationScope())
		i, ok := at[scope]
		if !ok {
			i = len(out.ScopeSpans)
			at[scope] = i
			out.ScopeSpans = append(out.ScopeSpans, jsonScopeSpans{Scope: scope})
		}
		out.ScopeSpans[i].Spans = append(out.ScopeSpans[i].Spans, spanOf(s))
	}
	return e.send(ctx, map[string]any{"resourceSpans": []jsonResourceSpans{out}})
}

func spanOf(s sdktrace.ReadOnlySpan) jsonSpan {
	id := s.SpanContext()
	out := jsonSpan{
		TraceID: id.TraceID().String(), SpanID: id.SpanID().String(), Name: s.Name(), Kind: int(trace.ValidateSpanKind(s.SpanKind())),
		Start: nanos(s.StartTime()), End: nanos(s.EndTime()), Attributes: attributesOf(s.Attributes()),
	}
	if p := s.Parent(); p.HasSpanID() {
		out.Parent = p.SpanID().String()
	}
	for _, l := range s.Links() {
		out.Links = append(out.Links, jsonLink{l.SpanContext.TraceID().String(), l.SpanContext.SpanID().String()})
	}
	switch s.Status().Code {
	case codes.Ok:
		out.Status.Code = statusOK
	case codes.Error:
		out.Status = jsonStatus{statusError, s.Status().Description}
	}
	return out
}

// Shutdown closes the connections.
func (e spanExporter) Shutdown(context.Context) error {
	e.close()
	return nil
}
