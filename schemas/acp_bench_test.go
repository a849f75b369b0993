package schemas_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/schemas"
)

// chunk is the params of a session/update with a text of n bytes, as Claude
// sends it.
func chunk(n int) []byte {
	return fmt.Appendf(nil, `{"sessionId":"e72258aa-2f9c-4630-bca5-b7c689cfec2b","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q},"messageId":"msg_4"}}`, strings.Repeat("a", n))
}

func benchACP(b *testing.B, harness string, kind schemas.Kind, dir schemas.Direction, method string, body []byte) {
	v := openACP(b, harness).For("")
	if err := v.Check(dir, kind, method, body); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Check(dir, kind, method, body); err != nil {
			b.Fatal(err)
		}
	}
}

// A streamed chunk, the frame there are most of: decoding and checking together
// are to stay under 20 µs, whatever its size.
func BenchmarkSchemaCheckACPChunk100(b *testing.B) {
	benchACP(b, "claude", schemas.Notification, from, "session/update", chunk(100))
}

func BenchmarkSchemaCheckACPChunk4K(b *testing.B) {
	benchACP(b, "claude", schemas.Notification, from, "session/update", chunk(4096))
}

// The largest update there is: a whole catalog.
func BenchmarkSchemaCheckACPConfigOptions(b *testing.B) {
	benchACP(b, "claude", schemas.Notification, from, "session/update", recordedUpdate(b, "claude", "session/update", "config_option_update"))
}

func BenchmarkSchemaCheckACPToolCallUpdate(b *testing.B) {
	benchACP(b, "grok", schemas.Notification, from, "session/update", recordedUpdate(b, "grok", "session/update", "tool_call_update"))
}

func BenchmarkSchemaCheckACPObserved(b *testing.B) {
	benchACP(b, "grok", schemas.Notification, from, "_x.ai/session_notification", recordedUpdate(b, "grok", "_x.ai/session_notification", "turn_completed"))
}

func BenchmarkSchemaCheckACPPrompt(b *testing.B) {
	benchACP(b, "claude", schemas.Request, to, "session/prompt", []byte(`{"sessionId":"s","prompt":[{"type":"text","text":"plan it"}]}`))
}

// recordedUpdate is the last recorded update of a kind.
func recordedUpdate(t testing.TB, folder, method, kind string) []byte {
	t.Helper()
	var body []byte
	for _, p := range readRecordings(t, folder) {
		if p.method == method && strings.Contains(string(p.body), `"sessionUpdate":"`+kind+`"`) {
			body = p.body
		}
	}
	if body == nil {
		t.Fatalf("no recording in %s has a %s of kind %s", folder, method, kind)
	}
	return body
}
