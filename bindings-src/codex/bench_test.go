package codex_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
)

// benchmarkNotification measures one step, event decoding and effect encoding
// included, on a session that runs a turn.
func benchmarkNotification(b *testing.B, method, params string) {
	machine := load(b, openTurn(b))
	ev := abi.AppendEvent(nil, &abi.Event{Now: 5, Message: &abi.Message{Type: abi.MessageNotification, Method: method, Params: abi.Raw(params)}})
	b.SetBytes(int64(len(ev)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := machine.Step(ev); err != nil {
			b.Fatal(err)
		}
	}
}

func deltaParams(n int) string {
	return `{"threadId":"thread-1","turnId":"n1","itemId":"msg_2","delta":"` + strings.Repeat("x", n) + `"}`
}

func BenchmarkStepDelta100B(b *testing.B) {
	benchmarkNotification(b, "item/agentMessage/delta", deltaParams(100))
}

func BenchmarkStepDelta1KB(b *testing.B) {
	benchmarkNotification(b, "item/agentMessage/delta", deltaParams(1000))
}

func BenchmarkStepItem1KB(b *testing.B) {
	benchmarkNotification(b, "item/completed", `{"item":{"type":"agentMessage","moderation":null,"id":"msg_2","text":"`+strings.Repeat("word ", 160)+
		`","phase":null,"memoryCitation":null,"delivery":null,"questions":null},"threadId":"thread-1","turnId":"n1","completedAtMs":1795998657333}`)
}

func TestADeltaCostsNoAllocation(t *testing.T) {
	machine := load(t, openTurn(t))
	ev := abi.AppendEvent(nil, &abi.Event{Now: 5, Message: &abi.Message{Type: abi.MessageNotification, Method: "item/agentMessage/delta", Params: abi.Raw(deltaParams(100))}})
	if n := testing.AllocsPerRun(200, func() {
		if _, err := machine.Step(ev); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a delta, want none", n)
	}
}
