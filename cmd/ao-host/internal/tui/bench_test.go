package tui_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// BenchmarkFrameWhileALongAnswerStreams is the cost of what the person sees of one
// batch of an answer of 50 KB, after a long story.
func BenchmarkFrameWhileALongAnswerStreams(b *testing.B) {
	r := sit(b, nil)
	turn := r.send("Go")
	for n := range 2000 {
		r.f.Say(turn, fmt.Sprint("m", n), "A message of *some* words.\n\n- and a list\n")
	}
	r.f.Emit(host.EventDelta, turn, abi.Delta{Turn: turn, Item: "long", Channel: abi.ChannelText, Text: strings.Repeat("Some words, `code`, and **more** words.\n\n", 1200)})
	r.read()
	b.ResetTimer()
	for b.Loop() {
		r.Stream(abi.Delta{Turn: turn, Item: "long", Channel: abi.ChannelText, Text: "a few words more "})
		r.Styled(120, 40)
	}
}

// BenchmarkALongStoryIsTold is what opening the chat costs for each event.
func BenchmarkALongStoryIsTold(b *testing.B) {
	r := sit(b, nil)
	turn := r.send("Go")
	for n := range 10000 {
		r.f.Emit(host.EventItem, turn, abi.Item{Turn: turn, ID: fmt.Sprint(n), Type: abi.ItemCommand, Status: abi.ItemCompleted, Title: "ls"})
	}
	for b.Loop() {
		again(b, r.f).Styled(120, 40)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10000, "ns/event")
}
