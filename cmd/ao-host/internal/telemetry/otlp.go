package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
)

// sender posts OTLP in its JSON encoding
// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids are
// hexadecimal, 64-bit numbers strings, enumerations numbers.
type sender struct {
	url     string
	headers http.Header
	client  *http.Client
}

// defaultTimeout bounds one request, as the specification of the exporter says.
const defaultTimeout = 10 * time.Second

// newSender reads where to send a signal, and how, from the variables of the
// specification (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).
func newSender(env func(string) string, signal, path string) (*sender, error) {
	own := func(name string) string {
		if v := env("OTEL_EXPORTER_OTLP_" + signal + "_" + name); v != "" {
			return v
		}
		return env("OTEL_EXPORTER_OTLP_" + name)
	}
	switch p := own("PROTOCOL"); p {
	case "", "http/json", "http/protobuf":
		// A server for one encoding over HTTP takes the other one, too.
	default:
		return nil, fmt.Errorf("the protocol is %q, and only http/json is spoken; set OTEL_EXPORTER_OTLP_PROTOCOL to that, or leave it out", p)
	}
	target := env("OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT")
	if target == "" {
		target = strings.TrimSuffix(env(endpoint), "/") + path
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the endpoint %q is no address such as http://127.0.0.1:4318", target)
	}
	s := &sender{url: target, headers: http.Header{}, client: &http.Client{Timeout: defaultTimeout, Transport: http.DefaultTransport.(*http.Transport).Clone()}}
	if ms, err := strconv.Atoi(own("TIMEOUT")); err == nil && ms > 0 {
		s.client.Timeout = time.Duration(ms) * time.Millisecond
	}
	for _, pair := range strings.Split(own("HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if plain, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			s.headers.Add(strings.TrimSpace(name), plain)
		}
	}
	return s, nil
}

func (s *sender) send(ctx context.Context, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = s.headers.Clone()
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	// Read to the end, so that the connection can be used again.
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answered %s", answer.Status)
	}
	return nil
}

func (s *sender) close() { s.client.CloseIdleConnections() }

type jsonResource struct {
	Attributes []jsonAttribute `json:"attributes"`
}

type jsonScope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type jsonAttribute struct {
	Key   string    `json:"key"`
	Value jsonValue `json:"value"`
}

// jsonValue has one member set.
type jsonValue struct {
	String *string  `json:"stringValue,omitempty"`
	Bool   *bool    `json:"boolValue,omitempty"`
	Int    *string  `json:"intValue,omitempty"`
	Double *float64 `json:"doubleValue,omitempty"`
}

func attributesOf(kvs []attribute.KeyValue) []jsonAttribute {
	out := make([]jsonAttribute, 0, len(kvs))
	for _, kv := range kvs {
		a := jsonAttribute{Key: string(kv.Key)}
		switch kv.Value.Type() {
		case attribute.BOOL:
			v := kv.Value.AsBool()
			a.Value.Bool = &v
		case attribute.INT64:
			v := strconv.FormatInt(kv.Value.AsInt64(), 10)
			a.Value.Int = &v
		case attribute.FLOAT64:
			v := kv.Value.AsFloat64()
			a.Value.Double = &v
		default:
			v := kv.Value.String()
			a.Value.String = &v
		}
		out = append(out, a)
	}
	return out
}

func resourceOf(r *resource.Resource) jsonResource { return jsonResource{attributesOf(r.Attributes())} }

func scopeOf(s instrumentation.Scope) jsonScope { return jsonScope{s.Name, s.Version} }

// nanos is a time as OTLP writes it.
func nanos(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}
