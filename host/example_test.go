package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// A conversation in plan mode: the question is answered, the plan is implemented.
// The harness here is scripted; without Launch the real one is started.
func Example() {
	dir, err := os.MkdirTemp("", "ao-host-example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "scripted.json"), []byte(primary), 0o600); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	h, err := host.Open(ctx, host.Config{
		Dir:    filepath.Join(dir, "data"),
		Env:    []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CODEX_HOME=" + dir},
		Launch: map[string]host.Launch{"codex": {Argv: []string{self, "app-server"}, Env: []string{scriptedEnv + "=1"}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = h.Close(ctx) }()

	mode, permission := "plan", abi.PermissionAuto
	c, err := h.Create(ctx, host.NewConversation{Harness: "codex", Cwd: dir, Settings: host.SettingsPatch{Mode: &mode, Permission: &permission}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := h.Send(ctx, c.ID, host.Message{Content: host.Text("Take notes")}); err != nil {
		log.Fatal(err)
	}
	for ev, err := range h.Events(ctx, c.ID, 0) {
		if err != nil {
			log.Fatal(err)
		}
		switch ev.Type {
		case host.EventInteraction:
			var card host.Interaction
			must(json.Unmarshal(ev.Body, &card))
			if card.State != host.InteractionOpen {
				continue
			}
			f := card.Ask.Fields[0]
			fmt.Println("asked:", f.Text)
			_, err := h.ResolveInput(ctx, c.ID, card.ID, host.Answer{Fields: []abi.FieldAnswer{{Field: f.ID, State: abi.StateAnswered, Selected: []int64{1}}}})
			must(err)
		case host.EventProposal:
			var plan host.Proposal
			must(json.Unmarshal(ev.Body, &plan))
			if plan.State != host.ProposalOpen {
				continue
			}
			fmt.Println("planned:", plan.Text)
			_, err := h.ContinuePlan(ctx, c.ID, host.PlanDecision{Proposal: plan.ID, Revision: plan.Revision})
			must(err)
		case host.EventTurn:
			var t host.Turn
			must(json.Unmarshal(ev.Body, &t))
			if t.State == host.TurnCompleted {
				fmt.Printf("%s turn in mode %s with permission %s: %s\n", t.Origin, t.Settings.Mode, t.Settings.Permission, t.State)
				if t.Origin == abi.OriginImplement {
					return
				}
			}
		}
	}
	// Output:
	// asked: Which file name?
	// planned: # Plan
	// 1. Write notes.md
	//
	// user turn in mode plan with permission auto: completed
	// implement turn in mode default with permission auto: completed
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
