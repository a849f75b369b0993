package codex_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
)

var fourPermissions = []abi.Permission{abi.PermissionDefault, abi.PermissionAcceptEdits, abi.PermissionAuto, abi.PermissionBypass}

// Rule 6: permission and mode are two axes, and every frame carries both in full.
func TestRule06_EveryPermissionInEveryModeGivesItsGoldenFrame(t *testing.T) {
	r := ready(t)
	var log []byte
	n := 0
	for _, mode := range []string{"default", "plan"} {
		for _, permission := range fourPermissions {
			n++
			turn := "t" + string(rune('0'+n))
			c := one(t, r.submit(turn, abi.Settings{Mode: mode, Permission: permission, Model: model, Effort: "high"}), call)
			log = append(append(append(log, "# "+mode+" "+string(permission)+"\n"...), c.Params...), '\n')
			r.result("turn/start", turnResult("n-"+turn))
			r.started("n-" + turn)
			r.completed("n-"+turn, "completed")
		}
	}
	checkGolden(t, filepath.Join("testdata", "golden", "frames.txt"), log)
}

// P3: everything in turn/start is sticky, so leaving plan mode must be said.
func TestP3_AnUnsetModeIsSentAsDefaultAfterAPlanTurn(t *testing.T) {
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{Mode: "plan", Permission: abi.PermissionBypass, Effort: "high"})
	r.completed("n1", "completed")
	c := one(t, r.submit("t2", abi.Settings{}), call)
	want := map[string]any{
		"threadId":            threadID,
		"clientUserMessageId": "client-t2",
		"input":               []any{map[string]any{"type": "text", "text": "do t2"}},
		"collaborationMode": map[string]any{"mode": "default", "settings": map[string]any{
			"model": model, "reasoning_effort": "medium", "developer_instructions": nil,
		}},
		"approvalPolicy":    "on-request",
		"approvalsReviewer": "user",
		"sandboxPolicy":     map[string]any{"type": "readOnly", "networkAccess": false},
	}
	if diff := cmp.Diff(want, at(t, []byte(`{"x":`+string(c.Params)+`}`), "x")); diff != "" {
		t.Errorf("turn/start (-want +got):\n%s", diff)
	}
	if c.Delivers != "t2" || c.TimeoutMS != 0 {
		t.Errorf("call = %+v", c)
	}
}

func TestTheDefaultPermissionPassesTheProvidersOwnBaselineBack(t *testing.T) {
	granular := `{"granular":{"sandbox_approval":true,"rules":false,"skill_approval":true,"request_permissions":true,"mcp_elicitations":true}}`
	box := `{"type":"workspaceWrite","writableRoots":["/data"],"networkAccess":true,"excludeTmpdirEnvVar":false,"excludeSlashTmp":true}`
	baseline := strings.NewReplacer(`"on-request"`, granular, `{"type":"readOnly","networkAccess":false}`, box, `"reasoningEffort":null`, `"reasoningEffort":"low"`).Replace(threadResult(threadID))
	r := newRig(t)
	r.read(openEvent())
	effects := r.result("thread/start", baseline)
	if got := one(t, effects, observed); got.Permission != abi.PermissionDefault {
		t.Errorf("observed = %+v", got)
	}
	native := one(t, effects, isReady).Catalog.Permissions[0].Native
	if want := `approvals granular, reviewed by user, sandbox workspaceWrite with network, also writes to ["/data"]`; native != want {
		t.Errorf("native = %q", native)
	}
	check := func(turn string, s abi.Settings, policy, sandbox, effort string) {
		t.Helper()
		c := one(t, r.submit(turn, s), call)
		for _, want := range []string{`"approvalPolicy":` + policy, `"sandboxPolicy":` + sandbox, `"reasoning_effort":` + effort} {
			if !strings.Contains(string(c.Params), want) {
				t.Errorf("%s: no %s in %s", turn, want, c.Params)
			}
		}
		r.fail("turn/start", abi.CallError{Code: -1, Message: "no"})
	}
	check("t1", abi.Settings{}, granular, box, `"low"`)
	// The configured roots and network stay with the permissions that write there.
	check("t2", abi.Settings{Permission: abi.PermissionAuto}, `"on-request"`, box, `"low"`)
	check("t3", abi.Settings{Permission: abi.PermissionBypass}, `"never"`, `{"type":"dangerFullAccess"}`, `"low"`)
	// Plan proposes its own effort; a model that is not described gets what it is given.
	check("t4", abi.Settings{Mode: "plan"}, granular, box, `"medium"`)
}

func TestAServerThatTellsNoPermissionsGetsTheDocumentedDefaults(t *testing.T) {
	r := newRig(t)
	r.read(openEvent())
	r.result("thread/start", `{"thread":{"id":"thread-1"},"model":"model-a"}`)
	c := one(t, r.submit("t1", abi.Settings{}), call)
	if want := `"approvalPolicy":"on-request","approvalsReviewer":"user","sandboxPolicy":{"type":"readOnly","networkAccess":false}`; !strings.Contains(string(c.Params), want) {
		t.Errorf("no %s in %s", want, c.Params)
	}
}

func TestQ7_TheEffortFollowsTheModel(t *testing.T) {
	for _, c := range []struct {
		name   string
		wish   abi.Settings
		effort any
	}{
		{"chosen", abi.Settings{Effort: "high"}, "high"},
		{"model's default", abi.Settings{}, "medium"},
		{"mode's proposal", abi.Settings{Mode: "plan"}, "medium"},
		{"a model without efforts", abi.Settings{Model: smallModel}, nil},
		{"a model without efforts, in plan", abi.Settings{Model: smallModel, Mode: "plan"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ready(t)
			got := one(t, r.submit("t1", c.wish), call)
			if e := at(t, got.Params, "collaborationMode.settings.reasoning_effort"); e != c.effort {
				t.Errorf("effort = %v in %s", e, got.Params)
			}
		})
	}
}

func TestRule03_AnUnknownWishSendsNothingAndIsTakenBackByTheNextGoodOne(t *testing.T) {
	for _, c := range []struct {
		name, code, field string
		wish              abi.Settings
	}{
		{"mode", "unknown_mode", "mode", abi.Settings{Mode: "turbo"}},
		{"model", "unknown_model", "model", abi.Settings{Model: "gpt-0"}},
		{"effort", "unknown_effort", "effort", abi.Settings{Effort: "ultra"}},
		{"effort of a model that has none", "unknown_effort", "effort", abi.Settings{Model: smallModel, Effort: "low"}},
		{"permission", "unknown_permission", "permission", abi.Settings{Permission: "root"}},
		{"option", "unknown_option", "speed", abi.Settings{Options: []abi.OptionValue{{ID: "speed", Value: "fast"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ready(t)
			effects := r.submit("t1", c.wish)
			none(t, effects, call)
			if got := one(t, effects, delivery); got.Turn != "t1" || got.Status != abi.DeliveryNotSent || got.Code != c.code {
				t.Errorf("delivery = %+v", got)
			}
			if got := one(t, effects, problem); got.Code != c.code || got.Field != c.field || got.Needs != abi.NeedsChoice || got.Message == "" {
				t.Errorf("problem = %+v", got)
			}
			// The same again says so again and does not pile up.
			one(t, r.submit("t1b", c.wish), problem)
			effects = r.submit("t2", abi.Settings{})
			one(t, effects, call)
			if got := one(t, effects, problem); !got.Resolved || got.Code != c.code || got.Field != c.field {
				t.Errorf("problem = %+v", got)
			}
		})
	}
}

func TestTheThreadsOwnModelIsFineAlthoughNoListHasIt(t *testing.T) {
	r := newRig(t)
	r.read(openEvent())
	r.result("thread/start", strings.Replace(threadResult(threadID), model, "mock-model", 1))
	c := one(t, r.submit("t1", abi.Settings{Model: "mock-model", Effort: "anything"}), call)
	if at(t, c.Params, "collaborationMode.settings.model") != "mock-model" || at(t, c.Params, "collaborationMode.settings.reasoning_effort") != "anything" {
		t.Errorf("settings = %s", c.Params)
	}
}

func TestC1_ImagesTravelAsADataURLAroundThePlaceholder(t *testing.T) {
	r := ready(t)
	content := []abi.Content{
		{Type: abi.ContentText, Text: "look \"here\""},
		{Type: abi.ContentImage, Media: "image/png", Digest: "sha256:00", Data: "PLACEHOLDER"},
	}
	c := one(t, r.send(abi.Submit{Turn: "t1", Content: content}), call)
	want := `"input":[{"type":"text","text":"look \"here\""},{"type":"image","url":"data:image/png;base64,PLACEHOLDER"}]`
	if !strings.Contains(string(c.Params), want) {
		t.Errorf("no %s in %s", want, c.Params)
	}
}

func TestC1_ContentThatWouldBeStrippedIsNotSent(t *testing.T) {
	r := ready(t)
	image := []abi.Content{{Type: abi.ContentImage, Media: "image/png", Data: "P"}}
	effects := r.send(abi.Submit{Turn: "t1", Content: image, Settings: abi.Settings{Model: smallModel}})
	none(t, effects, call)
	if got := one(t, effects, problem); got.Code != "images_unsupported" || got.Field != "model" {
		t.Errorf("problem = %+v", got)
	}
	for code, content := range map[string][]abi.Content{
		"content_unsupported": {{Type: abi.ContentFile, Name: "a.pdf", Data: "P"}},
		"content_empty":       {},
	} {
		effects = r.send(abi.Submit{Turn: "t2", Content: content})
		none(t, effects, call)
		none(t, effects, problem)
		if got := one(t, effects, delivery); got.Status != abi.DeliveryNotSent || got.Code != code {
			t.Errorf("%s: delivery = %+v", code, got)
		}
	}
	// C2: a text turn after a refused image works.
	one(t, r.submit("t3", abi.Settings{Model: smallModel}), call)
}

func TestASecondSubmissionDoesNotJoinTheRunningTurn(t *testing.T) {
	r := ready(t)
	r.submit("t1", abi.Settings{})
	for range 2 {
		effects := r.submit("t2", abi.Settings{})
		none(t, effects, call)
		if got := one(t, effects, delivery); got.Turn != "t2" || got.Status != abi.DeliveryNotSent || got.Code != "turn_running" {
			t.Errorf("delivery = %+v", got)
		}
		if len(r.calls) > 0 {
			r.result("turn/start", turnResult("n1"))
			r.started("n1")
		}
	}
}

func TestNothingIsSentBeforeTheSessionIsReady(t *testing.T) {
	r := newRig(t)
	r.read(openEvent())
	effects := r.submit("t1", abi.Settings{})
	none(t, effects, call)
	if got := one(t, effects, delivery); got.Status != abi.DeliveryNotSent || got.Code != "session_not_ready" {
		t.Errorf("delivery = %+v", got)
	}
}

func TestARefusedStartIsSettledByWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    abi.CallError
		status abi.DeliveryStatus
	}{
		{"refused by the provider", abi.CallError{Code: -32600, Message: "no"}, abi.DeliveryRejected},
		{"frame did not fit its schema", abi.CallError{Local: "schema", Message: "no"}, abi.DeliveryNotSent},
		{"no answer", abi.CallError{Local: "timeout"}, abi.DeliveryUnknown},
		{"process gone", abi.CallError{Local: "exited"}, abi.DeliveryUnknown},
		{"answer too large", abi.CallError{Local: "oversize"}, abi.DeliveryUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ready(t)
			r.submit("t1", abi.Settings{})
			effects := r.fail("turn/start", c.err)
			if got := one(t, effects, delivery); got.Turn != "t1" || got.Status != c.status {
				t.Errorf("delivery = %+v", got)
			}
			none(t, effects, turnEnded)
			one(t, r.submit("t2", abi.Settings{}), call)
		})
	}
	t.Run("sign-in missing", func(t *testing.T) {
		r := ready(t)
		r.submit("t1", abi.Settings{})
		effects := r.fail("turn/start", abi.CallError{Code: -32600, Message: "Please log in"})
		if got := one(t, effects, problem); got.Needs != abi.NeedsSignIn {
			t.Errorf("problem = %+v", got)
		}
	})
}

func TestAFollowUpAnswerIsWrittenFromWhatWasAsked(t *testing.T) {
	asked := &abi.Interaction{Fields: []abi.Field{
		{ID: "0", Text: "Which color?", Options: []abi.Option{{Label: "Red"}, {Label: "Blue, dark"}}},
		{ID: "1", Text: "Why?"},
		{ID: "2", Text: "Sure?", Options: []abi.Option{{Label: "Yes"}}},
		{ID: "3", Text: "Never asked"},
		{ID: "4", Text: "Which files?", Options: []abi.Option{{Label: "a"}, {Label: "b"}}, MultiSelect: true},
	}}
	reply := &abi.Reply{Fields: []abi.FieldAnswer{
		{Field: "4", State: abi.StateAnswered},
		{Field: "1", State: abi.StateAnswered, HasOther: true, Other: "it is calm"},
		{Field: "0", State: abi.StateAnswered, Selected: []int64{1, 9, -1}},
		{Field: "2", State: abi.StateSkipped},
	}}
	r := ready(t)
	c := one(t, r.send(abi.Submit{Turn: "t1", Origin: abi.OriginAnswer, Interaction: "k", Asked: asked, Reply: reply}), call)
	want := `"text":"Which color?\nBlue, dark\n\nWhy?\nit is calm\n\nSure?\n(skipped)\n\nWhich files?\n(none)"`
	if !strings.Contains(string(c.Params), want) {
		t.Errorf("no %s in %s", want, c.Params)
	}
	// Nothing to say is not a message, and neither is an answer to nothing.
	r = ready(t)
	none(t, r.send(abi.Submit{Turn: "t1", Origin: abi.OriginAnswer, Reply: reply}), call)
	r = ready(t)
	none(t, r.send(abi.Submit{Turn: "t1", Origin: abi.OriginAnswer, Asked: asked, Reply: &abi.Reply{}}), call)
}
