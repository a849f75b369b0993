package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// replaced is how often a daemon is replaced in each way.
func replaced() int {
	if testing.Short() {
		return 2
	}
	return 10
}

// Commands that meet a daemon which goes, or a folder that the next one is about to
// have, wait for it: none fails, and what they ask for happens once.
func TestNoCommandFailsWhileTheDaemonIsReplaced(t *testing.T) {
	p := newPlace(t, `{"turns": [{"repeat": true, "steps": [{"say": "You said: {{text}}"}]}]}`)
	p.serve("--background")
	out, err := p.command("new", "--harness", "codex", "--json").Output()
	var conv struct{ ID string }
	if err != nil || json.Unmarshal(out, &conv) != nil || conv.ID == "" {
		t.Fatalf("%v: %s", err, out)
	}
	var done atomic.Bool
	var others sync.WaitGroup
	sent := 0
	again := func(args func(n int) []string, ok func()) {
		others.Go(func() {
			for n := 0; !done.Load(); n++ {
				a := args(n)
				if out, err := p.command(a...).CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", strings.Join(a, " "), err, out)
				} else if ok != nil {
					ok()
				}
			}
		})
	}
	readers := [][]string{{"list"}, {"show", conv.ID}, {"queue", "list", "-c", conv.ID}, {"controls", "-c", conv.ID}, {"export", conv.ID}}
	again(func(n int) []string { return readers[n%len(readers)] }, nil)
	again(func(n int) []string {
		return []string{"set", "-c", conv.ID, "--mode", []string{"plan", "default"}[n%2]}
	}, nil)
	again(func(n int) []string { return []string{"send", "-c", conv.ID, fmt.Sprintf("message %d.", n)} }, func() { sent++ })

	for range replaced() {
		p.serve("--replace", "--background")
	}
	var before *exec.Cmd
	for range replaced() {
		next := p.command("serve", "--replace")
		said, err := next.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		next.Stderr = t.Output()
		if err := next.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(said).ReadString('\n'); !strings.HasPrefix(line, "The daemon listens") {
			t.Errorf("it did not take the place: %q, %v", line, err)
		}
		if before != nil {
			if err := before.Wait(); err != nil {
				t.Errorf("the one before ended with %v", err)
			}
		}
		before = next
	}
	done.Store(true)
	others.Wait()
	p.serve("--stop")
	if err := before.Wait(); err != nil {
		t.Errorf("the last one ended with %v", err)
	}

	out, err = p.command("show", conv.ID, "--json").Output()
	var shown struct {
		Turns []struct{ Content []struct{ Text string } }
	}
	if err != nil || json.Unmarshal(out, &shown) != nil {
		t.Fatalf("%v: %s", err, out)
	}
	times := map[string]int{}
	for _, turn := range shown.Turns {
		times[turn.Content[0].Text]++
	}
	if len(times) != sent || sent == 0 {
		t.Errorf("%d messages are there, %d were sent", len(times), sent)
	}
	for text, n := range times {
		if n != 1 {
			t.Errorf("%q was accepted %d times", text, n)
		}
	}
}
