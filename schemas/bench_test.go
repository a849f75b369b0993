package schemas_test

import (
	"encoding/json"
	"testing"

	"github.com/aoagents/ao-host/schemas"
)

func bench(b *testing.B, kind schemas.Kind, dir schemas.Direction, method string) {
	v := openCodex(b).For("")
	var body []byte
	for _, p := range readRecordings(b, "codex") {
		if p.method == method && p.kind == kind && p.dir == dir {
			body = p.body
		}
	}
	if body == nil {
		b.Fatalf("no recording has %s", method)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Check(dir, kind, method, body); err != nil {
			b.Fatal(err)
		}
	}
}

// A streamed delta, the frame there are most of: decoding and checking together
// are to stay under 20 µs.
func BenchmarkSchemaCheckDelta(b *testing.B) {
	bench(b, schemas.Notification, schemas.FromProvider, "item/agentMessage/delta")
}

func BenchmarkSchemaCheckItem(b *testing.B) {
	bench(b, schemas.Notification, schemas.FromProvider, "item/completed")
}

func BenchmarkSchemaCheckTokenUsage(b *testing.B) {
	bench(b, schemas.Notification, schemas.FromProvider, "thread/tokenUsage/updated")
}

func BenchmarkSchemaCheckTurnStart(b *testing.B) {
	bench(b, schemas.Request, schemas.ToProvider, "turn/start")
}

func BenchmarkSchemaCheckModelList(b *testing.B) {
	bench(b, schemas.Result, schemas.FromProvider, "model/list")
}

// A large command output is read, not copied.
func BenchmarkSchemaCheckLargeDelta(b *testing.B) {
	v := openCodex(b).For("")
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = 'a'
	}
	body, _ := json.Marshal(map[string]string{"threadId": "t", "turnId": "u", "itemId": "i", "delta": string(text)})
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Check(schemas.FromProvider, schemas.Notification, "item/commandExecution/outputDelta", body); err != nil {
			b.Fatal(err)
		}
	}
}

// What a session pays at its start: unpacking and the first frame of each method.
func BenchmarkSchemaOpen(b *testing.B) {
	section := packCodex(b)
	b.Logf("section: %d bytes", len(section))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schemas.Open(section); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSchemaWarm(b *testing.B) {
	section := packCodex(b)
	b.ReportAllocs()
	for b.Loop() {
		set, err := schemas.Open(section)
		if err != nil {
			b.Fatal(err)
		}
		if err := set.For("").Warm(); err != nil {
			b.Fatal(err)
		}
	}
}
