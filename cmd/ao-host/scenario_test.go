package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/aoagents/ao-host/host"
)

// TestThePrimaryScenarioByCommands plays the whole job, from the message to the
// written file, by separate commands: with the texts and with the JSON, against
// the daemon of a data folder and against a product that embeds the library. The
// scripts are the same, so what a person reads is the same too.
func TestThePrimaryScenarioByCommands(t *testing.T) {
	for _, place := range []string{"daemon", "embedded"} {
		t.Run(place, func(t *testing.T) {
			p := scriptParams(t, filepath.Join("testdata", "scenario"))
			// The other place writes the same.
			p.UpdateScripts = p.UpdateScripts && place == "daemon"
			setup := p.Setup
			p.Setup = func(e *testscript.Env) error {
				if err := setup(e); err != nil {
					return err
				}
				if err := useScriptedHarness(e); err != nil {
					return err
				}
				if place == "embedded" {
					return embed(t, e)
				}
				e.Setenv("WHERE", "--data="+e.Getenv("AO_HOST_DATA"))
				return nil
			}
			testscript.Run(t, p)
		})
	}
}

// useScriptedHarness lets the daemon start this program as the harness.
func useScriptedHarness(e *testscript.Env) error {
	b, err := json.Marshal(map[string]any{"launch": map[string]any{"codex": map[string]any{
		"argv": []string{e.Getenv("SELF"), "scripted-harness"}, "env": []string{"CODEX_HOME=" + e.Getenv("CODEX_HOME")},
	}}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(e.Getenv("AO_HOST_DATA"), "config.json"), b, 0o600)
}

// masks gives what differs from run to run names in the order of appearance.
type masks struct {
	names map[string]string
}

var volatile = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\d \d\d:\d\d|process \d+|--after \d+`)

// mask writes a file again with ids, times and places masked: mask [-sort] stdout
// NAME. Sorted is what a command shows while the agent speaks: a command that is a
// little late sees a message whole and behind what came with it.
func mask(ts *testscript.TestScript, _ bool, args []string) {
	sorted := args[0] == "-sort"
	if sorted {
		args = args[1:]
	}
	m := ts.Value("masks").(*masks)
	text := ts.ReadFile(args[0])
	for _, o := range []string{"--socket " + ts.Getenv("SOCKET"), "--data " + ts.Getenv("AO_HOST_DATA")} {
		text = strings.ReplaceAll(text, o, "--at HOST")
	}
	text = strings.ReplaceAll(text, ts.Getenv("WORK"), "WORK")
	text = volatile.ReplaceAllStringFunc(text, func(s string) string {
		switch {
		case strings.HasPrefix(s, "process"):
			return "process PID"
		case strings.HasPrefix(s, "--after"):
			// How text is grouped into events depends on the moment.
			return "--after N"
		case strings.Contains(s, ":"):
			return "YYYY-MM-DD HH:MM"
		case m.names[s] == "":
			m.names[s] = fmt.Sprintf("ID-%d", len(m.names)+1)
		}
		return m.names[s]
	})
	if sorted {
		lines := strings.SplitAfter(text, "\n")
		slices.Sort(lines)
		text = strings.Join(lines, "")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
}

// running waits until a turn runs.
func running(ts *testscript.TestScript, _ bool, _ []string) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		ts.Check(ts.Exec("ao-host", "controls", ts.Getenv("WHERE"), "--json"))
		var k host.Controls
		ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &k))
		if k.Running != nil && k.Running.State == host.TurnRunning {
			return
		}
	}
	ts.Fatalf("no turn runs")
}

// setturn puts the id of the turn in a state into a variable: setturn NAME FILE STATE,
// where the file is the JSON of show.
func setturn(ts *testscript.TestScript, _ bool, args []string) {
	var shown struct{ Turns []host.Turn }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &shown))
	for _, t := range shown.Turns {
		if string(t.State) == args[2] {
			ts.Setenv(args[0], t.ID)
			return
		}
	}
	ts.Fatalf("no turn is %s", args[2])
}
