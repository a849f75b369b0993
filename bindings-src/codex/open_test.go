package codex_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
)

func TestANewSessionStartsOneThreadAndTellsItsCatalog(t *testing.T) {
	r := newRig(t)
	r.read(openEvent())
	start := r.calls[len(r.calls)-1]
	if start.Method != "thread/start" || at(t, start.Params, "ephemeral") != nil {
		t.Errorf("want one durable thread/start, got %s %s", start.Method, start.Params)
	}
	got := one(t, r.result("thread/start", threadResult(threadID)), isReady)
	if got.NativeSession != threadID || got.Restored != abi.RestoredNew || got.ProviderVersion != "0.171.0" {
		t.Errorf("ready = %+v", got)
	}
	want := abi.Catalog{
		Modes: []abi.ModeChoice{
			{ID: "plan", Name: "Plan", Meaning: abi.MeaningPlanning, EnforcedBy: abi.EnforcedByHarness, DefaultEffort: "medium"},
			{ID: "default", Name: "Default", Meaning: abi.MeaningExecution, EnforcedBy: abi.EnforcedByHarness},
		},
		Permissions: []abi.PermissionChoice{
			{Permission: abi.PermissionDefault, Support: abi.SupportNative, Native: "approvals on-request, reviewed by user, sandbox readOnly"},
			{Permission: abi.PermissionAcceptEdits, Support: abi.SupportNative, Native: "approvals on-request, reviewed by user, sandbox workspaceWrite"},
			{Permission: abi.PermissionAuto, Support: abi.SupportNative, Native: "approvals on-request, reviewed by auto_review, sandbox workspaceWrite"},
			{Permission: abi.PermissionBypass, Support: abi.SupportNative, Native: "approvals never, reviewed by user, sandbox dangerFullAccess"},
		},
		Models: []abi.ModelChoice{
			{ID: model, Name: "A", Description: "big", DefaultEffort: "medium", Images: true, Default: true,
				Efforts: []abi.Choice{{ID: "low", Description: "l"}, {ID: "medium", Description: "m"}, {ID: "high", Description: "h"}}},
			{ID: smallModel, Name: "B", Description: "small", DefaultEffort: "none", Hidden: true},
		},
	}
	for i := range got.Catalog.Modes {
		got.Catalog.Modes[i].Description = ""
	}
	if diff := cmp.Diff(want, got.Catalog); diff != "" {
		t.Errorf("catalog (-want +got):\n%s", diff)
	}
}

func TestAModeThatIsNotKnownStaysUsableWithoutAMeaning(t *testing.T) {
	r := newRig(t)
	r.step("open", abi.Event{Open: openEvent()})
	r.result("initialize", `{}`)
	r.result("account/read", signedIn)
	r.result("model/list", models)
	r.result("collaborationMode/list", `{"data":[{"name":"Pair","mode":"pair","model":"model-b","reasoning_effort":null}]}`)
	got := one(t, r.result("thread/start", threadResult(threadID)), isReady).Catalog.Modes
	if diff := cmp.Diff([]abi.ModeChoice{{ID: "pair", Name: "Pair"}}, got); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
	// The mode's own model is the default in it.
	r.newer = true
	c := one(t, r.submit("t1", abi.Settings{Mode: "pair"}), call)
	if got := at(t, c.Params, "collaborationMode.settings.model"); got != smallModel {
		t.Errorf("model = %v", got)
	}
}

func TestModelsAreReadPageByPage(t *testing.T) {
	r := newRig(t)
	r.step("open", abi.Event{Open: openEvent()})
	r.result("initialize", `{}`)
	next := one(t, r.result("model/list", `{"data":[{"model":"one"}],"nextCursor":"c1"}`), call)
	if at(t, next.Params, "cursor") != "c1" || at(t, next.Params, "includeHidden") != true {
		t.Errorf("second page asked with %s", next.Params)
	}
	r.result("account/read", signedIn)
	r.result("collaborationMode/list", modes)
	if r.take("thread/start") != nil {
		t.Fatal("the thread was started before the last page")
	}
	r.result("model/list", `{"data":[{"model":"two"},{"model":"one"}],"nextCursor":null}`)
	ready := one(t, r.result("thread/start", threadResult(threadID)), isReady)
	if !ready.Catalog.Models[0].Images {
		t.Error("a server that tells no modalities was taken for one without images")
	}
	var ids []string
	for _, m := range ready.Catalog.Models {
		ids = append(ids, m.ID)
	}
	if diff := cmp.Diff([]string{"one", "two", model}, ids); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}

func TestASessionOpensAlthoughTheCatalogCannotBeRead(t *testing.T) {
	r := newRig(t)
	r.step("open", abi.Event{Open: openEvent()})
	r.result("initialize", `{"userAgent":"x"}`)
	for _, method := range []string{"account/read", "model/list", "collaborationMode/list"} {
		r.fail(method, abi.CallError{Code: -32601, Message: "no " + method})
	}
	one(t, r.result("thread/start", threadResult(threadID)), isReady)
	c := one(t, r.submit("t1", abi.Settings{}), call)
	if got := at(t, c.Params, "collaborationMode.mode"); got != "default" {
		t.Errorf("mode = %v", got)
	}
	var codes []string
	for _, w := range only(r.all, warning) {
		codes = append(codes, w.Code)
	}
	if diff := cmp.Diff([]string{"models_unavailable", "modes_unavailable"}, codes); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func restoring(t *testing.T, o *abi.Open) *rig {
	t.Helper()
	r := newRig(t)
	o.NativeSession = threadID
	r.read(o)
	return r
}

func TestAResumedSessionExcludesItsHistoryAndKeepsTheBaselineApart(t *testing.T) {
	r := restoring(t, &abi.Open{Used: true, Cwd: "/workspace"})
	c := r.calls[0]
	if c.Method != "thread/resume" || !c.Restores || c.TimeoutMS != 0 || at(t, c.Params, "excludeTurns") != true || at(t, c.Params, "threadId") != threadID {
		t.Fatalf("resume call = %+v %s", c, c.Params)
	}
	resumed := strings.NewReplacer("on-request", "never", "readOnly", "dangerFullAccess", model, "model-x").Replace(threadResult(threadID))
	effects := r.result("thread/resume", resumed)
	if got := one(t, effects, isReady); got.Restored != abi.RestoredResumed || got.Reason != "" {
		t.Errorf("ready = %+v", got)
	}
	if got := one(t, effects, observed); got.Permission != abi.PermissionBypass || got.Model != "model-x" {
		t.Errorf("observed = %+v", got)
	}
	// The last turn's settings are sticky, so the default must be the baseline.
	c = one(t, r.submit("t1", abi.Settings{}), call)
	if at(t, c.Params, "approvalPolicy") != "on-request" || at(t, c.Params, "sandboxPolicy.type") != "readOnly" || at(t, c.Params, "collaborationMode.settings.model") != model {
		t.Errorf("default is not the provider's baseline: %s", c.Params)
	}
}

func TestP8_WhatTheLastTurnRanUnderIsNeverTakenForTheConfiguredPermission(t *testing.T) {
	for name, tell := range map[string]func(r *rig) []abi.Effect{
		"refused":         func(r *rig) []abi.Effect { return r.fail("thread/start", abi.CallError{Code: -32603, Message: "busy"}) },
		"overdue":         func(r *rig) []abi.Effect { return r.fail("thread/start", abi.CallError{Local: "timeout"}) },
		"names no thread": func(r *rig) []abi.Effect { return r.result("thread/start", `{}`) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			o := openEvent()
			o.NativeSession, o.Used = threadID, true
			r.step("open", abi.Event{Open: o})
			r.result("initialize", `{}`)
			r.result("account/read", signedIn)
			r.result("model/list", models)
			w := one(t, tell(r), warning)
			if w.Code != "baseline_unavailable" || !strings.Contains(w.Message, "read-only") {
				t.Errorf("warning = %+v", w)
			}
			r.result("collaborationMode/list", modes)
			effects := r.result("thread/resume", strings.NewReplacer("on-request", "never", "readOnly", "dangerFullAccess").Replace(threadResult(threadID)))
			if got := one(t, effects, observed); got.Permission != abi.PermissionBypass {
				t.Errorf("observed = %+v", got)
			}
			if native := one(t, effects, isReady).Catalog.Permissions[0].Native; native != "approvals on-request, reviewed by user, sandbox readOnly" {
				t.Errorf("the default permission is %q", native)
			}
			c := one(t, r.submit("t1", abi.Settings{Permission: abi.PermissionDefault}), call)
			if at(t, c.Params, "approvalPolicy") != "on-request" || at(t, c.Params, "sandboxPolicy.type") != "readOnly" {
				t.Errorf("the default permission gave %s", c.Params)
			}
		})
	}
}

func TestRule04_AnAnswerDoesNotOverwriteANewerNotification(t *testing.T) {
	r := restoring(t, &abi.Open{Used: true})
	got := one(t, r.notify("thread/settings/updated", settingsUpdate("plan", "high")), observed)
	if got.Mode != "plan" || got.Effort != "high" {
		t.Errorf("observed = %+v", got)
	}
	none(t, r.result("thread/resume", threadResult(threadID)), observed)
}

func settingsUpdate(mode, effort string) string {
	return `{"threadId":"` + threadID + `","threadSettings":{"approvalPolicy":"on-request","approvalsReviewer":"user","sandboxPolicy":{"type":"readOnly","networkAccess":false},"model":"` + model +
		`","effort":"` + effort + `","collaborationMode":{"mode":"` + mode + `","settings":{}}}}`
}

func TestRule23_AMissingThreadIsReplaced(t *testing.T) {
	missing := abi.CallError{Code: -32600, Message: "no rollout found for thread id thread-1"}
	for _, used := range []bool{true, false} {
		r := restoring(t, &abi.Open{Used: used})
		none(t, r.fail("thread/resume", missing), problem)
		if got := r.notify("thread/name/updated", `{"threadId":"thread-1","threadName":"gone"}`); len(got) != 0 {
			t.Errorf("the lost thread gave %s", abi.AppendEffects(nil, got))
		}
		got := one(t, r.result("thread/start", threadResult("thread-2")), isReady)
		want := abi.Ready{Restored: abi.RestoredNew}
		if used {
			want = abi.Ready{Restored: abi.RestoredReplaced, Reason: missing.Message}
		}
		if got.Restored != want.Restored || got.Reason != want.Reason || got.NativeSession != "thread-2" {
			t.Errorf("used=%v: ready = %+v", used, got)
		}
	}
}

func TestS6_AResumeThatGivesAnotherThreadIsNoResume(t *testing.T) {
	r := restoring(t, &abi.Open{Used: true})
	effects := r.result("thread/resume", threadResult("thread-9"))
	none(t, effects, isReady)
	if got := r.take("thread/unsubscribe"); got == nil || at(t, got.Params, "threadId") != "thread-9" {
		t.Errorf("the other thread was kept: %+v", got)
	}
	if got := one(t, r.result("thread/start", threadResult("thread-2")), isReady); got.Restored != abi.RestoredReplaced || got.NativeSession != "thread-2" || got.Reason == "" {
		t.Errorf("ready = %+v", got)
	}
}

func TestRule23_ASignInFailureIsNoFreshSession(t *testing.T) {
	t.Run("told by the account", func(t *testing.T) {
		r := newRig(t)
		o := openEvent()
		o.NativeSession, o.Used = threadID, true
		r.step("open", abi.Event{Open: o})
		r.result("initialize", `{}`)
		r.result("account/read", `{"account":null,"requiresOpenaiAuth":true}`)
		r.result("model/list", models)
		r.result("thread/start", threadResult("baseline-1"))
		effects := r.result("collaborationMode/list", modes)
		if got := one(t, effects, problem); got.Code != "sign_in_required" || got.Needs != abi.NeedsSignIn {
			t.Errorf("problem = %+v", got)
		}
		none(t, effects, call)
		none(t, effects, isReady)
	})
	t.Run("told by the resume", func(t *testing.T) {
		r := restoring(t, &abi.Open{Used: true})
		effects := r.fail("thread/resume", abi.CallError{Code: -32603, Message: "401 Unauthorized"})
		if got := one(t, effects, problem); got.Needs != abi.NeedsSignIn || !strings.Contains(got.Message, "401 Unauthorized") {
			t.Errorf("problem = %+v", got)
		}
		none(t, effects, call)
	})
}

func TestAnAccountThatIsSignedInOrNotNeededOpens(t *testing.T) {
	for _, account := range []string{`{}`, `null`, `{"account":{"type":"chatgpt"},"requiresOpenaiAuth":true}`, `{"account":null,"requiresOpenaiAuth":false}`} {
		r := newRig(t)
		r.step("open", abi.Event{Open: openEvent()})
		r.result("initialize", `{}`)
		r.result("account/read", account)
		r.result("model/list", models)
		none(t, r.result("collaborationMode/list", modes), problem)
		one(t, r.result("thread/start", threadResult(threadID)), isReady)
	}
}

func TestAStartThatNeedsASignInSaysSo(t *testing.T) {
	r := newRig(t)
	r.read(openEvent())
	effects := r.fail("thread/start", abi.CallError{Code: -32600, Message: "Please sign in"})
	if got := one(t, effects, problem); got.Needs != abi.NeedsSignIn {
		t.Errorf("problem = %+v", got)
	}
	none(t, effects, isReady)
}

func TestAFailedStartIsAProblemAndNotReady(t *testing.T) {
	for _, method := range []string{"initialize", "thread/start"} {
		r := newRig(t)
		if method == "initialize" {
			r.step("open", abi.Event{Open: openEvent()})
		} else {
			r.read(openEvent())
		}
		effects := r.fail(method, abi.CallError{Code: -32603, Message: "broken"})
		if got := one(t, effects, problem); !strings.Contains(got.Message, "broken") {
			t.Errorf("%s: problem = %+v", method, got)
		}
		none(t, r.all, isReady)
		if got := one(t, r.submit("t1", abi.Settings{}), delivery); got.Status != abi.DeliveryNotSent {
			t.Errorf("%s: delivery = %+v", method, got)
		}
	}
}

func itemsPage(next string, clients ...string) string {
	var entries []string
	for _, c := range clients {
		entries = append(entries, `{"turnId":"n","item":{"type":"userMessage","clientId":`+c+`,"content":[]}}`)
	}
	return `{"data":[` + strings.Join(entries, ",") + `],"nextCursor":` + next + `}`
}

func TestRule20_UncertainDeliveriesAreLookedUpBeforeTheSessionIsReady(t *testing.T) {
	r := restoring(t, &abi.Open{Used: true, Unsettled: []string{"a", "b", "c"}})
	effects := r.result("thread/resume", threadResult(threadID))
	none(t, effects, isReady)
	effects = r.result("thread/items/list", itemsPage(`"p2"`, `"c"`, `null`, `"foreign"`, `"c"`))
	if next := one(t, effects, call); at(t, next.Params, "cursor") != "p2" {
		t.Errorf("second page asked with %s", next.Params)
	}
	effects = r.result("thread/items/list", itemsPage("null", `"a"`))
	none(t, effects, isReady)
	// "b" is not there, so it is asked whether a turn has lost its message.
	if next := one(t, effects, call); next.Method != "thread/turns/list" || at(t, next.Params, "threadId") != threadID {
		t.Fatalf("asked with %s %s", next.Method, next.Params)
	}
	effects = r.result("thread/turns/list", `{"data":[`+wholeTurn+`],"nextCursor":"p2"}`)
	if next := one(t, effects, call); at(t, next.Params, "cursor") != "p2" {
		t.Errorf("second page asked with %s", next.Params)
	}
	effects = r.result("thread/turns/list", `{"data":[`+wholeTurn+`],"nextCursor":null}`)
	if diff := cmp.Diff(&abi.History{Found: []string{"c", "a"}, Complete: true}, one(t, effects, history)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	one(t, effects, isReady)
	if slices.IndexFunc(effects, func(e abi.Effect) bool { return e.History != nil }) > slices.IndexFunc(effects, func(e abi.Effect) bool { return e.Ready != nil }) {
		t.Error("ready came before the history")
	}
}

const (
	wholeTurn = `{"id":"n1","status":"completed","itemsView":"summary","items":[{"type":"userMessage","clientId":"x"}]}`
	// tornTurn is what is left of a turn whose process ended while the message was
	// being written: the model's record has the text, the list of items has nothing.
	tornTurn = `{"id":"n2","status":"interrupted","itemsView":"summary","items":[]}`
)

func TestRule20_WhenAllAreFoundNothingMoreIsAsked(t *testing.T) {
	r := restoring(t, &abi.Open{Used: true, Unsettled: []string{"a", "b"}})
	r.result("thread/resume", threadResult(threadID))
	effects := r.result("thread/items/list", itemsPage("null", `"b"`, `"a"`))
	none(t, effects, call)
	if got := one(t, effects, history); !got.Complete || len(got.Found) != 2 {
		t.Errorf("history = %+v", got)
	}
}

func TestRule20_ALegacyThreadIsReadAsAWhole(t *testing.T) {
	r := restoring(t, &abi.Open{Used: true, Unsettled: []string{"a", "b"}})
	r.result("thread/resume", threadResult(threadID))
	c := one(t, r.fail("thread/items/list", abi.CallError{Code: -32601, Message: "thread/items/list is not supported yet"}), call)
	if c.Method != "thread/read" || at(t, c.Params, "includeTurns") != true {
		t.Fatalf("fallback = %s %s", c.Method, c.Params)
	}
	effects := r.result("thread/read", `{"thread":{"turns":[{"itemsView":"full","items":[{"type":"userMessage","clientId":"b"}]}]}}`)
	if diff := cmp.Diff(&abi.History{Found: []string{"b"}, Complete: true}, one(t, effects, history)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	one(t, effects, isReady)
}

func TestRule20_AnUnreadableHistoryProvesNoAbsence(t *testing.T) {
	for name, read := range map[string]func(r *rig) []abi.Effect{
		"both calls fail": func(r *rig) []abi.Effect {
			r.fail("thread/items/list", abi.CallError{Local: "timeout"})
			return r.fail("thread/read", abi.CallError{Local: "timeout"})
		},
		"turns are only summarised": func(r *rig) []abi.Effect {
			r.fail("thread/items/list", abi.CallError{Code: -32601})
			return r.result("thread/read", `{"thread":{"turns":[{"itemsView":"summary","items":[]}]}}`)
		},
		"a turn has lost its message": func(r *rig) []abi.Effect {
			r.result("thread/items/list", itemsPage("null"))
			return r.result("thread/turns/list", `{"data":[`+wholeTurn+`,`+tornTurn+`],"nextCursor":"p2"}`)
		},
		"a turn of a legacy thread has lost its message": func(r *rig) []abi.Effect {
			r.fail("thread/items/list", abi.CallError{Code: -32601})
			return r.result("thread/read", `{"thread":{"turns":[{"itemsView":"full","items":[]}]}}`)
		},
		"the turns cannot be listed": func(r *rig) []abi.Effect {
			r.result("thread/items/list", itemsPage("null"))
			return r.fail("thread/turns/list", abi.CallError{Code: -32600, Message: "thread not loaded"})
		},
		"the turns are no list": func(r *rig) []abi.Effect {
			r.result("thread/items/list", itemsPage("null"))
			return r.result("thread/turns/list", `{}`)
		},
		"the answer has no list": func(r *rig) []abi.Effect { return r.result("thread/items/list", `{}`) },
	} {
		t.Run(name, func(t *testing.T) {
			r := restoring(t, &abi.Open{Used: true, Unsettled: []string{"a"}})
			r.result("thread/resume", threadResult(threadID))
			effects := read(r)
			if got := one(t, effects, history); got.Complete || len(got.Found) != 0 {
				t.Errorf("history = %+v", got)
			}
			one(t, effects, isReady)
		})
	}
	t.Run("the session is gone", func(t *testing.T) {
		r := restoring(t, &abi.Open{Used: true, Unsettled: []string{"a"}})
		r.fail("thread/resume", abi.CallError{Code: -32600, Message: "no rollout found"})
		if got := one(t, r.result("thread/start", threadResult("thread-2")), history); got.Complete {
			t.Errorf("history = %+v", got)
		}
	})
}

func TestS5_ReplayedUpdatesOpenAndStartNothing(t *testing.T) {
	r := restoring(t, &abi.Open{Used: true})
	replay := func(method, params string) []abi.Effect {
		return r.step("replay "+method, abi.Event{Message: &abi.Message{Type: abi.MessageNotification, Method: method, Params: abi.Raw(params), Replay: true}})
	}
	if got := replay("turn/started", `{"threadId":"`+threadID+`","turn":{"id":"old"}}`); len(got) != 0 {
		t.Errorf("a replayed turn started something: %s", abi.AppendEffects(nil, got))
	}
	effects := replay("item/completed", `{"threadId":"`+threadID+`","turnId":"old","item":{"type":"agentMessage","id":"m","text":"?","delivery":"async","questions":[{"title":"?","options":null}]}}`)
	if got := one(t, effects, anItem); !got.Replay || got.Turn != "" {
		t.Errorf("item = %+v", got)
	}
	none(t, effects, opened)
	if got := replay("item/agentMessage/delta", `{"threadId":"`+threadID+`","turnId":"old","itemId":"m","delta":"x"}`); len(got) != 0 {
		t.Errorf("a replayed delta was passed on: %s", abi.AppendEffects(nil, got))
	}
}

func TestTheBaselineThreadLeavesNoTrace(t *testing.T) {
	r := restoring(t, &abi.Open{Used: true})
	r.result("thread/resume", threadResult(threadID))
	for _, method := range []string{"thread/settings/updated", "thread/name/updated", "turn/started", "item/started"} {
		params := `{"threadId":"baseline-1","threadName":"x","turnId":"n","turn":{"id":"n"},"item":{"type":"plan","id":"p","text":"x"},"threadSettings":{"model":"other"}}`
		if got := r.notify(method, params); len(got) != 0 {
			t.Errorf("%s of the baseline thread gave %s", method, abi.AppendEffects(nil, got))
		}
	}
}

func TestAFreshOpenForgetsTheOldGeneration(t *testing.T) {
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{})
	r.step("exited", abi.Event{Exited: &abi.Exited{Code: 1}})
	r.calls = nil
	o := openEvent()
	o.Generation, o.NativeSession, o.Used = 2, threadID, true
	r.read(o)
	r.result("thread/resume", threadResult(threadID))
	if got := one(t, r.submit("t2", abi.Settings{}), call); got.Delivers != "t2" {
		t.Errorf("call = %+v", got)
	}
}
