package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
	"github.com/aoagents/ao-host/bindings-src/claude"
)

const acpModule = "github.com/aoagents/ao-host/bindings-src/claude/module"

// acpState is the saved state of an ACP binding whose turn runs.
func acpState(tb testing.TB) []byte {
	tb.Helper()
	r := acptest.NewRig(tb, func() guest.Reducer { return claude.New() })
	r.Open(nil)
	r.Result("initialize", `{"protocolVersion":1,"agentCapabilities":{}}`)
	r.Result("session/new", `{"sessionId":"s-1"}`)
	r.Submit("t1", abi.Settings{})
	if len(acptest.Only(r.Notify("session/update", acpChunk("hello")), acptest.Delta)) != 1 {
		tb.Fatal("no turn runs")
	}
	return r.Save()
}

func acpChunk(text string) string {
	return `{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","messageId":"m1","content":{"type":"text","text":"` + text + `"}}}`
}

// acpEvent is a chunk of about size bytes of text, as a model writes it, as an event.
func acpEvent(size int) []byte {
	words := "The quick brown fox jumps over the lazy dog while nobody looks at what it does with the other one, and then it goes on to say \\\"nothing\\\".\\n"
	return abi.AppendEvent(nil, &abi.Event{Now: 1_795_998_658_000, Message: &abi.Message{
		Type: abi.MessageNotification, Method: "session/update", Params: abi.Raw(acpChunk(strings.Repeat(words, size/len(words)))),
	}})
}

func TestTheACPBindingAnswersTheSameNativelyAndInTheSandbox(t *testing.T) {
	state := acpState(t)
	native := guest.NewMachine(claude.New())
	i := instantiate(t, load(t, newEngine(t, sharedConfig()), buildGo(t, acpModule), abi.Limits{}))
	if err := native.Load(state); err != nil {
		t.Fatal(err)
	}
	if err := i.Load(context.Background(), state); err != nil {
		t.Fatal(err)
	}
	// Enough for the stream to be closed and to go on as another item.
	for n := range 100 {
		ev := acpEvent([]int{200, 4 << 10, 64 << 10}[n%3])
		want, err := native.Step(slices.Clone(ev))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := i.Step(context.Background(), ev)
		if err != nil {
			t.Fatalf("event %d: %v", n, err)
		}
		if string(got) != string(want) {
			t.Fatalf("event %d\nsandbox %.200s\nnative  %.200s", n, got, want)
		}
	}
	got, err := i.Save(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want := native.Save(); string(got) != string(want) {
		t.Errorf("the state is %.200q, natively %.200q", got, want)
	}
}

// BenchmarkACPChunk is BenchmarkCodexDelta for a chunk over the Agent Client Protocol.
func BenchmarkACPChunk(b *testing.B) {
	state := acpState(b)
	for _, size := range []int{200, 4 << 10} {
		ev := acpEvent(size)
		b.Run(fmt.Sprintf("native/%d", size), func(b *testing.B) {
			m := guest.NewMachine(claude.New())
			if err := m.Load(state); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(ev)))
			b.ReportAllocs()
			quantiles(b, func() {
				if _, err := m.Step(ev); err != nil {
					b.Fatal(err)
				}
			})
		})
		b.Run(fmt.Sprintf("sandbox/%d", size), func(b *testing.B) {
			i := instantiate(b, load(b, newEngine(b, sharedConfig()), buildGo(b, acpModule), abi.Limits{}))
			ctx := context.Background()
			if err := i.Load(ctx, state); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(ev)))
			b.ReportAllocs()
			quantiles(b, func() {
				if _, _, err := i.Step(ctx, ev); err != nil {
					b.Fatal(err)
				}
			})
			b.ReportMetric(float64(i.MemoryBytes()>>10), "KiB")
		})
	}
}
