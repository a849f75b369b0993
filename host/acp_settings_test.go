package host_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
	"github.com/aoagents/ao-host/lab/scripted"
)

const answersAll = `{"turns":[{"repeat":true,"steps":[{"say":"In {{mode}} with {{model}}."}]}]}`

// models are two models of an agent; Grok's recording has one.
func (a actor) models() [2]string {
	switch a.profile {
	case scripted.ProfileClaude101, scripted.ProfileClaude049:
		return [2]string{"sonnet", "haiku"}
	case scripted.ProfileKimchi:
		return [2]string{"multi-model", "fake/basic"}
	case scripted.ProfileGrok:
		return [2]string{"mock-model", "mock-model"}
	case scripted.ProfileGrokLegacy:
		return [2]string{"mock-model", "mock-plain"}
	}
	return [2]string{"large", "small"}
}

func TestRule08_OfTwoAPIsTheModernOneAloneIsUsedAndTheOlderOneWhereNothingElseIsOffered(t *testing.T) {
	t.Parallel()
	// older are the legacy setters that have to be used; all others must not be.
	older := map[string][]string{
		scripted.ProfileLegacy: {"session/set_mode", "session/set_model"},
		// Grok's modes are in no option, so that its setter is the only way.
		scripted.ProfileGrok:       {"session/set_mode"},
		scripted.ProfileGrokLegacy: {"session/set_mode", "session/set_model"},
	}
	eachACPAgent(t, func(t *testing.T, a actor) {
		r := newACPRig(t, a, answersAll)
		models := a.models()
		check := func(mode, model string) {
			t.Helper()
			turn := r.send("Go")
			r.untilTurn(turn.ID, host.TurnCompleted)
			if o := r.controls().Observed; o == nil || o.Mode != mode || o.Model != model {
				t.Errorf("in force: %+v, want %s and %s", o, mode, model)
			}
		}
		// New, plan, another model, work again, and all of it after a restart.
		r.configure(host.SettingsPatch{Mode: ptr("default"), Model: ptr(models[0])})
		check("default", models[0])
		r.configure(host.SettingsPatch{Mode: ptr("plan"), Permission: ptr(abi.PermissionBypass)})
		check("plan", models[0])
		r.configure(host.SettingsPatch{Model: ptr(models[1])})
		check("plan", models[1])
		r.restart()
		check("plan", models[1])
		r.configure(host.SettingsPatch{Mode: ptr("default"), Model: ptr(models[0])})
		check("default", models[0])

		if r.called("session/load") != 1 {
			t.Errorf("the session was loaded %d times", r.called("session/load"))
		}
		want := older[a.profile]
		for _, method := range []string{"session/set_mode", "session/set_model"} {
			if n := r.called(method); (n > 0) != slices.Contains(want, method) {
				t.Errorf("%s was called %d times", method, n)
			}
		}
		if n := r.called("session/set_config_option"); (n > 0) == (a.profile == scripted.ProfileLegacy || a.profile == scripted.ProfileGrokLegacy) {
			t.Errorf("session/set_config_option was called %d times", n)
		}
		if bad := dishonest(r); len(bad) != 0 {
			t.Errorf("%q", bad)
		}
	})
}

func TestP9_P10_WhateverASetterAnswersNoPromptIsSentUnderAWrongMode(t *testing.T) {
	t.Parallel()
	// told: the mode is only known by notification, so that a silent change is none.
	told := []string{scripted.ProfileGrok, scripted.ProfileGrokLegacy, scripted.ProfileLegacy}
	for _, c := range []struct {
		how  string
		code string // of the submission that is not sent; empty where it is sent
	}{
		{"ignored", "not_applied"},
		{"refused", "setting_refused"},
		{"late", ""},
		{"silent", ""},
	} {
		t.Run(c.how, func(t *testing.T) {
			eachACPAgentOfCase(t, c.how, func(t *testing.T, a actor) {
				code := c.code
				if c.how == "silent" && slices.Contains(told, a.profile) {
					code = "not_applied"
				}
				option := map[string]string{scripted.ProfileKimchi: "permissions-mode"}[a.profile]
				if option == "" {
					option = "mode"
				}
				r := newACPRig(t, a, strings.Replace(answersAll, "{", `{"behaviour":{"setters":{"`+option+`":"`+c.how+`"}},`, 1))
				r.configure(host.SettingsPatch{Mode: ptr("plan")})
				turn := r.send("Go")
				if code == "" {
					r.untilTurn(turn.ID, host.TurnCompleted)
					if got := r.texts(abi.ItemMessage); len(got) != 1 || !strings.HasPrefix(got[0], "In plan ") {
						t.Errorf("the agent said %q", got)
					}
					if o := r.controls().Observed; o == nil || o.Mode != "plan" {
						t.Errorf("in force: %+v", o)
					}
					return
				}
				got := r.untilTurn(turn.ID, host.TurnNotSent)
				if got.Code != code || got.Message == "" {
					t.Errorf("the turn %+v", got)
				}
				if n := r.called("session/prompt"); n != 0 {
					t.Errorf("%d prompts were sent (rule 3)", n)
				}
				c := r.controls()
				if c.Settings.Mode != "plan" || c.Observed == nil || c.Observed.Mode == "plan" {
					t.Errorf("remembered %+v, in force %+v (rule 3)", c.Settings, c.Observed)
				}
				if !slices.ContainsFunc(c.Problems, func(p abi.Problem) bool { return p.Field == "mode" && p.Needs == abi.NeedsChoice }) {
					t.Errorf("problems %+v", c.Problems)
				}
			})
		})
	}
}

func TestQ7_ARememberedChoiceThatTheNewModelLacksSendsNothingAndAnotherChoiceGoesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		profile, first, second, effort string
		// option is chosen instead of an effort where every model has every effort.
		option string
		// code and field of what is told.
		code, field string
	}{
		{scripted.ProfileClaude101, "opus", "sonnet", "", "fast", "unknown_option", "fast"},
		{scripted.ProfileClaude049, "sonnet", "haiku", "high", "", "unknown_effort", "effort"},
		// It takes both in one call, and tells only that it refuses them.
		{scripted.ProfileGrokLegacy, "mock-model", "mock-plain", "high", "", "setting_refused", "model"},
		{scripted.ProfileModern, "large", "small", "high", "", "unknown_effort", "effort"},
		{scripted.ProfileBoth, "large", "small", "high", "", "unknown_effort", "effort"},
	} {
		t.Run(c.profile, func(t *testing.T) {
			t.Parallel()
			a := actors[slices.IndexFunc(actors, func(a actor) bool { return a.profile == c.profile })]
			r := newACPRig(t, a, answersAll)
			wish := host.SettingsPatch{Model: &c.first}
			again := host.SettingsPatch{Effort: ptr("")}
			if c.option != "" {
				wish.Options = map[string]string{c.option: "on"}
				again = host.SettingsPatch{Options: map[string]string{c.option: ""}}
			} else {
				wish.Effort = &c.effort
			}
			r.configure(wish)
			r.untilTurn(r.send("Go").ID, host.TurnCompleted)
			if o := r.controls().Observed; o == nil || o.Model != c.first || c.effort != "" && o.Effort != c.effort {
				t.Fatalf("in force: %+v", o)
			}
			prompts := r.called("session/prompt")

			r.configure(host.SettingsPatch{Model: &c.second})
			turn := r.send("Go on")
			got := r.untilTurn(turn.ID, host.TurnNotSent)
			after := r.controls()
			if got.Code != c.code || !slices.ContainsFunc(after.Problems, func(p abi.Problem) bool { return p.Field == c.field && p.Needs == abi.NeedsChoice }) {
				t.Errorf("the turn %+v, problems %+v", got, after.Problems)
			}
			if n := r.called("session/prompt"); n != prompts {
				t.Errorf("%d prompts more were sent (rule 3)", n-prompts)
			}
			if after.Settings.Model != c.second || after.Settings.Effort != c.effort {
				t.Errorf("remembered %+v: the intent is kept", after.Settings)
			}

			r.configure(again)
			next, err := r.h.Retry(t.Context(), r.conv, turn.ID, host.RetryRequest{})
			if err != nil {
				t.Fatal(err)
			}
			r.untilTurn(next.ID, host.TurnCompleted)
			after = r.controls()
			if after.Observed == nil || after.Observed.Model != c.second || slices.ContainsFunc(after.Problems, func(p abi.Problem) bool { return p.Field == c.field }) {
				t.Errorf("in force %+v, problems %+v", after.Observed, after.Problems)
			}
		})
	}
}

func TestP10_WhatGoesWithAnotherModelIsNotRefusedByTheChoicesOfTheOneInForce(t *testing.T) {
	t.Parallel()
	a := actors[slices.IndexFunc(actors, func(a actor) bool { return a.profile == scripted.ProfileClaude049 })]
	r := newACPRig(t, a, answersAll)
	r.configure(host.SettingsPatch{Model: ptr("sonnet")})
	r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	// Only the default model and Opus have this effort.
	_, err := r.h.ConfigureNextTurn(t.Context(), r.conv, r.controls().Revision, host.SettingsPatch{Effort: ptr("xhigh")})
	wantCode(t, err, host.CodeUnknownEffort)
	r.configure(host.SettingsPatch{Model: ptr("opus[1m]"), Effort: ptr("xhigh")})
	r.untilTurn(r.send("Go").ID, host.TurnCompleted)
	if o := r.controls().Observed; o == nil || o.Model != "opus[1m]" || o.Effort != "xhigh" {
		t.Errorf("in force: %+v", o)
	}
	// What it does not have after all is found out before the message is sent.
	r.configure(host.SettingsPatch{Model: ptr("sonnet"), Effort: ptr("xhigh")})
	turn := r.send("Go")
	if got := r.untilTurn(turn.ID, host.TurnNotSent); got.Code != "unknown_effort" {
		t.Errorf("the turn %+v", got)
	}
}
