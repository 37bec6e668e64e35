package main

import (
	"context"
	"errors"
	"net/http"
	"os"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// startTracing sends spans to where OTEL_EXPORTER_OTLP_ENDPOINT says, and does nothing where it says nothing. AskOnce's
// client needs no more than this: its calls become spans, and the sidecar's spans come under them.
func startTracing(ctx context.Context) (stop func(context.Context) error, err error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" {
		return func(context.Context) error { return nil }, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	// What the environment says of the service counts more.
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "gateway")), resource.WithFromEnv())
	if err != nil {
		return nil, errors.Join(err, exporter.Shutdown(ctx))
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return provider.Shutdown, nil
}

// traced makes a span of each request, under the caller's.
func traced(handler http.Handler) http.Handler {
	return otelhttp.NewHandler(handler, "gateway")
}

// tracedTransport makes a span of each call to a provider. The provider, another company, is not told of it.
func tracedTransport() http.RoundTripper {
	return otelhttp.NewTransport(http.DefaultTransport,
		otelhttp.WithPropagators(propagation.NewCompositeTextMapPropagator()))
}
