package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/abi/guest"
	"github.com/aoagents/ao-host/bindings-src/codex"
)

const codexModule = "github.com/aoagents/ao-host/bindings-src/codex/module"

// codexSession drives the binding natively into a running turn and returns the
// events it took.
func codexSession(tb testing.TB) (events [][]byte) {
	tb.Helper()
	const thread = "019f0000-aaaa-7000-8000-000000000001"
	answers := map[string]string{
		codex.MethodInitialize:            `{"userAgent":"ao-host/0.171.0 (Debian 12.0.0; x86_64) xterm (ao-host; 0.1.0)"}`,
		"account/read":                    `{"account":null,"requiresOpenaiAuth":false}`,
		codex.MethodModelList:             `{"data":[{"id":"a","model":"model-a","displayName":"A","description":"big","hidden":false,"isDefault":true,"defaultReasoningEffort":"medium","inputModalities":["text"],"supportedReasoningEfforts":[{"reasoningEffort":"medium","description":"m"}]}],"nextCursor":null}`,
		codex.MethodCollaborationModeList: `{"data":[{"name":"Plan","mode":"plan"},{"name":"Default","mode":"default"}]}`,
		codex.MethodThreadStart:           `{"thread":{"id":"` + thread + `","name":null,"turns":[]},"model":"model-a","reasoningEffort":null,"approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false}}`,
		codex.MethodTurnStart:             `{"turn":{"id":"turn-1","status":"inProgress"}}`,
	}
	m := guest.NewMachine(codex.New())
	var now int64 = 1_795_998_657_000
	isReady, isStarted := false, false
	var step func(ev abi.Event)
	step = func(ev abi.Event) {
		now++
		ev.Now = now
		b := abi.AppendEvent(nil, &ev)
		events = append(events, b)
		out, err := m.Step(slices.Clone(b))
		if err != nil {
			tb.Fatal(err)
		}
		effects, err := abi.DecodeEffects(slices.Clone(out))
		if err != nil {
			tb.Fatal(err)
		}
		for _, e := range effects {
			isReady = isReady || e.Ready != nil
			isStarted = isStarted || e.TurnStarted != nil
			if e.Call == nil {
				continue
			}
			msg := &abi.Message{Type: abi.MessageResult, Method: e.Call.Method, Token: e.Call.Token, Result: abi.Raw(answers[e.Call.Method])}
			if len(msg.Result) == 0 {
				msg.Type, msg.Error = abi.MessageError, &abi.CallError{Code: -32601, Message: "unknown method"}
			}
			step(abi.Event{Message: msg})
		}
	}
	step(abi.Event{Open: &abi.Open{Generation: 1, Cwd: "/workspace", Client: abi.ClientInfo{Name: "ao-host", Version: "0.1.0"}}})
	step(abi.Event{Submit: &abi.Submit{Turn: "t1", ClientID: "c1", Origin: abi.OriginUser, Content: []abi.Content{{Type: abi.ContentText, Text: "hello"}}}})
	step(abi.Event{Message: &abi.Message{Type: abi.MessageNotification, Method: codex.MethodTurnStarted, Params: abi.Raw(`{"threadId":"` + thread + `","turn":{"id":"turn-1","status":"inProgress"}}`)}})
	if !isReady || !isStarted {
		tb.Fatalf("the session is not running a turn: ready %t, started %t", isReady, isStarted)
	}
	return events
}

// codexDelta is a text delta of about size bytes as an event.
func codexDelta(size int) []byte {
	// What models write: words, line ends, a quote now and then.
	words := "The quick brown fox jumps over the lazy dog, says \\\"nothing\\\" and\\n"
	wrap := func(text string) []byte {
		return abi.AppendEvent(nil, &abi.Event{Now: 1_795_998_658_000, Message: &abi.Message{
			Type: abi.MessageNotification, Method: codex.MethodItemAgentMessageDelta,
			Params: abi.Raw(`{"threadId":"019f0000-aaaa-7000-8000-000000000001","turnId":"turn-1","itemId":"msg_1","delta":"` + text + `"}`),
		}})
	}
	n := max(0, size-len(wrap(""))) / len(words)
	return wrap(strings.Repeat(words, n) + strings.Repeat("x", max(0, size-len(wrap(strings.Repeat(words, n))))))
}

func TestTheCodexBindingAnswersTheSameNativelyAndInTheSandbox(t *testing.T) {
	native := guest.NewMachine(codex.New())
	i := instantiate(t, load(t, newEngine(t, sharedConfig()), buildGo(t, codexModule), abi.Limits{}))
	events := codexSession(t)
	for _, size := range []int{200, 1 << 10, 64 << 10} {
		events = append(events, codexDelta(size))
	}
	for n, ev := range events {
		want, err := native.Step(slices.Clone(ev))
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := i.Step(context.Background(), ev)
		if err != nil {
			t.Fatalf("event %d: %v", n, err)
		}
		if string(got) != string(want) {
			t.Fatalf("event %d %.80s\nsandbox %.200s\nnative  %.200s", n, ev, got, want)
		}
	}
	state, err := i.Save(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want := native.Save(); string(state) != string(want) {
		t.Errorf("the state is %q, natively %q", state, want)
	}
}

// quantiles reports the median and the 99th percentile of a benchmark's calls.
func quantiles(b *testing.B, call func()) {
	took := make([]time.Duration, 0, 1<<16)
	for b.Loop() {
		began := time.Now()
		call()
		if len(took) < cap(took) {
			took = append(took, time.Since(began))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}

func BenchmarkCodexDelta(b *testing.B) {
	events := codexSession(b)
	for _, size := range []int{200, 1 << 10, 64 << 10} {
		ev := codexDelta(size)
		b.Run(fmt.Sprintf("native/%d", size), func(b *testing.B) {
			m := guest.NewMachine(codex.New())
			for _, e := range events {
				if _, err := m.Step(slices.Clone(e)); err != nil {
					b.Fatal(err)
				}
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
			i := instantiate(b, load(b, newEngine(b, sharedConfig()), buildGo(b, codexModule), abi.Limits{}))
			ctx := context.Background()
			for _, e := range events {
				if _, _, err := i.Step(ctx, e); err != nil {
					b.Fatal(err)
				}
			}
			var fuel int64
			b.SetBytes(int64(len(ev)))
			b.ReportAllocs()
			quantiles(b, func() {
				var err error
				if _, fuel, err = i.Step(ctx, ev); err != nil {
					b.Fatal(err)
				}
			})
			b.ReportMetric(float64(fuel), "fuel")
			b.ReportMetric(float64(i.MemoryBytes()>>10), "KiB")
		})
	}
}
