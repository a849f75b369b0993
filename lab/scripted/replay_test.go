package scripted_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aoagents/ao-host/lab/scripted"
	"github.com/google/go-cmp/cmp"
)

// recorded is a line of a recording.
type recorded struct {
	Dir   string          `json:"dir"`
	Frame json.RawMessage `json:"frame"`
}

func readRecording(t *testing.T, path string) []recorded {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []recorded
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 1<<22)
	for sc.Scan() {
		var r recorded
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// unordered are frames that the real harness sends whenever it likes, or not at all,
// depending on the machine. They are not part of the order that is compared.
var unordered = map[string]bool{"configWarning": true, "remoteControl/status/changed": true, "thread/started": true,
	"thread/goal/cleared": true, "warning": true}

// loose are parts of frames that say something about the machine or the catalog, not about the protocol.
var loose = []string{"userAgent", "models", "activePermissionProfile.", "instructionSources", "gitInfo", "aggregatedOutput"}

// ids gives every id of a side a name by its first appearance, so that two sides can be compared.
type ids map[string]string

func (n ids) label(kind, id string) string {
	if id == "" {
		return ""
	}
	if n[id] == "" {
		count := 0
		for _, l := range n {
			if strings.HasPrefix(l, kind) {
				count++
			}
		}
		n[id] = fmt.Sprintf("%s%d", kind, count+1)
	}
	return n[id]
}

// key is what must agree about a frame: who it is about, and what it says.
func key(t *testing.T, n ids, f frame, asked string) string {
	t.Helper()
	if f.Method == "" {
		if f.Error != nil {
			return fmt.Sprintf("error of %s: %d %s", asked, f.Error.Code, f.Error.Message)
		}
		said := []string{"result of " + asked}
		for _, path := range []string{"turn.status", "approvalPolicy", "approvalsReviewer", "sandbox.type", "reasoningEffort",
			"thread.ephemeral", "thread.status.type", "thread.preview"} {
			if v := field(t, f.Result, path); v != "" {
				said = append(said, path+"="+v)
			}
		}
		said = append(said, n.label("thread", field(t, f.Result, "thread.id")), n.label("turn", field(t, f.Result, "turn.id")))
		if strings.HasSuffix(asked, "/list") && strings.HasPrefix(asked, "thread/") {
			said = append(said, listed(t, f.Result))
		}
		return strings.Join(said, " ")
	}
	said := []string{f.Method, n.label("thread", field(t, f.Params, "threadId")), n.label("turn", field(t, f.Params, "turnId")),
		n.label("turn", field(t, f.Params, "turn.id")), n.label("item", field(t, f.Params, "itemId")), n.label("item", field(t, f.Params, "item.id"))}
	for _, path := range []string{"status.type", "status.activeFlags", "item.type", "item.status", "item.clientId", "item.delivery", "item.phase",
		"item.questions", "item.text", "item.source", "turn.status", "turn.itemsView", "turn.error", "questions", "isBlocking", "kind", "reason",
		"threadSettings.approvalPolicy", "threadSettings.approvalsReviewer", "threadSettings.sandboxPolicy", "threadSettings.model",
		"threadSettings.effort", "threadSettings.collaborationMode.mode", "requestId", "tokenUsage.total.totalTokens", "summary"} {
		if v := field(t, f.Params, path); v != "" {
			said = append(said, path+"="+v)
		}
	}
	if f.ID != nil {
		said = append(said, "id="+string(f.ID))
	}
	return strings.Join(said, " ")
}

// listed is what a list of items or turns holds.
func listed(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var list struct {
		Data []struct {
			Status string
			Item   struct{ Type, ClientID, Text string }
			Items  []struct{ Type, ClientID, Text string }
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%+v", list.Data)
}

// shape lists the members of a frame, as paths. The elements of a list are taken together.
func shape(raw json.RawMessage) []string {
	seen := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, inner := range v {
				walk(path+"."+k, inner)
			}
		case []any:
			for _, inner := range v {
				walk(path, inner)
			}
		}
		for _, l := range loose {
			if strings.Contains(path+".", "."+l) {
				return
			}
		}
		seen[path] = true
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	walk("", v)
	paths := make([]string, 0, len(seen))
	for p := range seen {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths
}

// settle puts frames that the real harness sends in either order into one order: what
// follows the answer to an approval, and the flag that goes with an item.
func settle(keys []string) []string {
	for i := 0; i+1 < len(keys); i++ {
		if strings.HasPrefix(keys[i], "item/completed") && strings.Contains(keys[i], "item.status=declined") && strings.HasPrefix(keys[i+1], "thread/status/changed") {
			keys[i], keys[i+1] = keys[i+1], keys[i]
		}
	}
	return keys
}

// replay plays the client's side of a recording against the scripted harness and compares
// what comes back, frame by frame.
func replay(t *testing.T, recording, script, version, home string, thread string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "scripts", "scripted", script+".json"))
	if err != nil {
		t.Fatal(err)
	}
	s := parse(t, string(data))
	s.Version = version
	c := connect(t, s, home)
	lines := readRecording(t, recording)
	dir := t.TempDir()
	replaced := map[string]string{"/workspace": dir}
	if thread != "" {
		for _, l := range lines { // the thread of an earlier recording
			if id := field(t, l.Frame, "params.threadId"); l.Dir == "in" && id != "" {
				replaced[id] = thread
				break
			}
		}
	}
	theirs, ours := ids{}, ids{}
	asked := map[string]string{}
	var want, got []string
	position := 0
	next := func() frame {
		for {
			deadline := time.Now().Add(time.Minute)
			wake := time.AfterFunc(time.Minute, c.cond.Broadcast)
			c.mu.Lock()
			for position >= len(c.frames) && !c.eof && time.Now().Before(deadline) {
				c.cond.Wait()
			}
			wake.Stop()
			if position >= len(c.frames) {
				c.mu.Unlock()
				t.Fatalf("the harness sends no more; compared so far:\n%s", cmp.Diff(settle(want), settle(got)))
			}
			f := c.frames[position]
			position++
			c.mu.Unlock()
			if !unordered[f.Method] {
				return f
			}
		}
	}
	for _, l := range lines {
		switch l.Dir {
		case "in":
			text := string(l.Frame)
			for from, to := range replaced {
				text = strings.ReplaceAll(text, from, to)
			}
			if m := field(t, l.Frame, "method"); m != "" {
				id := field(t, l.Frame, "id")
				asked[id] = m
				c.mu.Lock()
				c.asked[id] = m
				c.mu.Unlock()
			}
			c.line(text)
		case "out":
			var f frame
			if err := json.Unmarshal(l.Frame, &f); err != nil {
				t.Fatal(err)
			}
			f.raw = string(l.Frame)
			if unordered[f.Method] {
				continue
			}
			mine := next()
			want = append(want, key(t, theirs, f, asked[string(f.ID)]))
			got = append(got, key(t, ours, mine, asked[string(mine.ID)]))
			for _, path := range []string{"result.thread.id", "result.turn.id"} {
				if a, b := field(t, l.Frame, path), field(t, json.RawMessage(mine.raw), path); a != "" {
					replaced[a] = b
				}
			}
			if mine.Method == f.Method && f.Method != "" && f.Method != "account/rateLimits/updated" || f.Method == "" && asked[string(f.ID)] != "model/list" {
				if a, b := shape(l.Frame), shape(json.RawMessage(mine.raw)); f.Method != "thread/status/changed" && !slices.Equal(a, b) && got[len(got)-1] == want[len(want)-1] {
					t.Errorf("members of %s (-real +scripted):\n%s", f.Method+asked[string(f.ID)], cmp.Diff(a, b))
				}
			}
		}
	}
	if diff := cmp.Diff(settle(want), settle(got)); diff != "" {
		t.Errorf("frames of %s (-real +scripted):\n%s", filepath.Base(recording), diff)
	}
	for recordedID, id := range replaced {
		if theirs[recordedID] == "thread1" {
			return id
		}
	}
	return ""
}

func TestTheClientSideOfARecordingGetsTheSameFramesAsFromTheRealHarness(t *testing.T) {
	for _, c := range []struct {
		folder, version string
		// recordings names each with its script.
		recordings map[string]string
	}{
		{"codex", scripted.Version171, map[string]string{"plan-primary": "plan-primary", "approval-interrupt": "approval-interrupt", "sticky-plan": "sticky-plan", "async-question": "async-question"}},
		// This version lets a command run on, and has no async questions.
		{"codex-0.153", scripted.Version153, map[string]string{"plan-primary": "plan-primary", "approval-interrupt": "approval-interrupt-late", "sticky-plan": "sticky-plan"}},
	} {
		for name, script := range c.recordings {
			path := filepath.Join("..", "..", "testdata", "recordings", c.folder, name+".ndjson")
			t.Run(c.version+" "+name, func(t *testing.T) { replay(t, path, script, c.version, t.TempDir(), "") })
		}
	}
}

func TestAThreadComesBackAfterARestartAsInTheRecording(t *testing.T) {
	recordings := filepath.Join("..", "..", "testdata", "recordings", "codex")
	home := t.TempDir()
	var thread string
	t.Run("first process", func(t *testing.T) {
		thread = replay(t, filepath.Join(recordings, "plan-primary.ndjson"), "plan-primary", scripted.Version171, home, "")
	})
	if thread == "" {
		t.Fatal("the first process made no thread")
	}
	t.Run("second process", func(t *testing.T) {
		replay(t, filepath.Join(recordings, "resume-history.ndjson"), "plan-primary", scripted.Version171, home, thread)
	})
}
