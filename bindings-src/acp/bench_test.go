package acp_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
)

// benchmarkUpdate measures one step, event decoding and effect encoding included, on a
// session that runs a turn. The text is kept until its turn ends, so the state is
// loaded anew from time to time.
func benchmarkUpdate(b *testing.B, a *agent, params string) {
	state := busy(b, a)
	machine := load(b, a, state)
	ev := abi.AppendEvent(nil, &abi.Event{Now: 5, Message: &abi.Message{Type: abi.MessageNotification, Method: "session/update", Params: abi.Raw(params)}})
	b.SetBytes(int64(len(ev)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := machine.Step(ev); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStepChunk100B(b *testing.B) {
	for _, a := range agents {
		b.Run(a.name, func(b *testing.B) { benchmarkUpdate(b, a, named(a, chunk(strings.Repeat("x", 100)))) })
	}
}

func BenchmarkStepChunk4KB(b *testing.B) {
	for _, a := range agents {
		b.Run(a.name, func(b *testing.B) { benchmarkUpdate(b, a, named(a, chunk(strings.Repeat("x", 4096)))) })
	}
}

// named adds what an agent says of the prompt an update belongs to.
func named(a *agent, params string) string {
	if a != grokAgent {
		return params
	}
	return strings.TrimSuffix(params, "}") + `,"_meta":{"totalTokens":122,"eventId":"e-24","agentTimestampMs":1795998735853,"promptId":"client-t1","updateType":"AgentMessageChunk"}}`
}

func TestAChunkCostsFewAllocations(t *testing.T) {
	for _, a := range agents {
		limit := 0.0
		if a == grokAgent {
			limit = 3 // the prompt's id, which it names with every chunk
		}
		machine := load(t, a, busy(t, a))
		ev := abi.AppendEvent(nil, &abi.Event{Now: 5, Message: &abi.Message{Type: abi.MessageNotification, Method: "session/update", Params: abi.Raw(named(a, chunk(strings.Repeat("x", 100))))}})
		if n := testing.AllocsPerRun(200, func() {
			if _, err := machine.Step(ev); err != nil {
				t.Fatal(err)
			}
		}); n > limit {
			t.Errorf("%s: %v allocations a chunk", a, n)
		}
	}
}
