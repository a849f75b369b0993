package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab/scripted"
)

// BenchmarkPipelineACP is BenchmarkPipeline for chunks over the Agent Client Protocol.
func BenchmarkPipelineACP(b *testing.B) { pipeline(b, "chunk", newACPBenchRig) }

// replayed is the length of the history in BenchmarkReload.
const replayed = 20_000

// BenchmarkReload measures how a restored session's history of 20,000 updates is
// absorbed: from the start of the process to the session that is ready. The binding
// itself was loaded before, by another conversation.
func BenchmarkReload(b *testing.B) {
	r := newACPBenchRig(b, fmt.Sprintf(`{"behaviour":{"replay":{"count":%d,"bytes":200,"prose":true}},"turns":[{"repeat":true,"steps":[{"say":"Hello."}]}]}`, replayed))
	turn := r.send("Hello")
	r.untilTurnSoon(turn.ID)
	for b.Loop() {
		b.StopTimer()
		r.restart()
		if _, err := r.h.Probe(b.Context(), r.newACPConversation()); err != nil {
			b.Fatal(err)
		}
		c := newCost()
		b.StartTimer()
		start := time.Now()
		if _, err := r.h.Probe(b.Context(), r.conv); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(start).Seconds(), "s")
		b.StopTimer()
		c.report(b, "")
		b.StartTimer()
	}
}

// newACPBenchRig is a rig whose conversation is with a scripted agent that speaks the
// Agent Client Protocol.
func newACPBenchRig(b *testing.B, script string) *rig {
	b.Helper()
	if _, err := scripted.ParseACP([]byte(script)); err != nil {
		b.Fatalf("the script: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	home := b.TempDir()
	if err := os.WriteFile(filepath.Join(home, "scripted.json"), []byte(script), 0o600); err != nil {
		b.Fatal(err)
	}
	r := newRig(b, `{}`, func(cfg *host.Config) {
		cfg.Launch["claude"] = host.Launch{
			Argv: []string{self, "acp", "--profile", scripted.ProfileClaude101},
			Env:  []string{scriptedEnv + "=1", "AO_SCRIPTED_HOME=" + home},
		}
	})
	r.conv = r.newACPConversation()
	return r
}

func (r *rig) newACPConversation() string {
	r.t.Helper()
	c, err := r.h.Create(r.t.Context(), host.NewConversation{Harness: "claude", Cwd: r.cwd})
	if err != nil {
		r.t.Fatal(err)
	}
	return c.ID
}

// burst is n deltas of size bytes each, a thousand a message as long answers are.
func burst(n, size int) string {
	var steps []string
	for ; n > 0; n -= 1000 {
		steps = append(steps, fmt.Sprintf(`{"burst":{"count":%d,"bytes":%d,"prose":true}}`, min(n, 1000), size))
	}
	return strings.Join(steps, ",")
}
