// Package telemetry exports traces and metrics by OTLP over HTTP, where the
// environment asks for it as OpenTelemetry lays down: OTEL_EXPORTER_OTLP_ENDPOINT or
// that of a signal names where to. Without it nothing is made and nothing is sent.
//
// The encoder is our own, in JSON: OpenTelemetry's links gRPC, which costs every
// daemon 12 MB of memory whether it exports or not.
package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Providers take what a host has to tell. Those that are off are nil.
type Providers struct {
	Traces  trace.TracerProvider
	Metrics metric.MeterProvider

	shutdown []func(context.Context) error
}

// endpoint is the variable that turns both signals on.
const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"

// on reports whether a signal, TRACES or METRICS, is asked for.
func on(env func(string) string, signal string) bool {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") || env("OTEL_"+signal+"_EXPORTER") == "none" {
		return false
	}
	return env(endpoint) != "" || env("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// Start makes the providers that the environment asks for. A signal that cannot be
// exported is logged and off: it must not keep the program from its work.
func Start(ctx context.Context, env func(string) string, version string, log *slog.Logger) Providers {
	var p Providers
	off := func(signal string, err error) {
		log.Warn("telemetry is off", "signal", signal, "error", err)
	}
	if !on(env, "TRACES") && !on(env, "METRICS") {
		return p
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("telemetry could not be exported", "error", err) }))
	// No detectors of host, process or user: what is sent says nothing of them.
	res, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "ao-host"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		log.Warn("the attributes of telemetry are incomplete", "error", err)
	}
	if on(env, "TRACES") {
		if s, err := newSender(env, "TRACES", "/v1/traces"); err != nil {
			off("traces", err)
		} else {
			tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spanExporter{s}), sdktrace.WithResource(res))
			p.Traces, p.shutdown = tp, append(p.shutdown, tp.Shutdown)
		}
	}
	if on(env, "METRICS") {
		if s, err := newSender(env, "METRICS", "/v1/metrics"); err != nil {
			off("metrics", err)
		} else {
			mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metricExporter{s})), sdkmetric.WithResource(res))
			p.Metrics, p.shutdown = mp, append(p.shutdown, mp.Shutdown)
		}
	}
	return p
}

// Shutdown sends what is left, until ctx ends.
func (p Providers) Shutdown(ctx context.Context) error {
	var errs []error
	for _, end := range p.shutdown {
		errs = append(errs, end(ctx))
	}
	return errors.Join(errs...)
}
