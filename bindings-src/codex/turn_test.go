package codex_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aoagents/ao-host/abi"
)

// kinds lists what happened to turns and deliveries, in order.
func kinds(effects []abi.Effect) (s []string) {
	for i := range effects {
		switch e := &effects[i]; {
		case e.Delivery != nil:
			s = append(s, string(e.Delivery.Status)+" "+e.Delivery.Turn)
		case e.TurnStarted != nil:
			s = append(s, "started "+e.TurnStarted.Turn+" "+e.TurnStarted.NativeTurn)
		case e.TurnEnded != nil:
			s = append(s, "ended "+e.TurnEnded.Turn+" "+string(e.TurnEnded.Status))
		case e.Call != nil:
			s = append(s, "call "+e.Call.Method)
		}
	}
	return s
}

func wantKinds(t *testing.T, effects []abi.Effect, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, kinds(effects)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const userMessage = `{"type":"userMessage","id":"u","clientId":"client-t1","content":[]}`

func TestQ5_ATurnThatEndsBeforeItsStartIsAnsweredEndsOnce(t *testing.T) {
	t.Run("with the message as proof", func(t *testing.T) {
		r := ready(t)
		r.all = nil
		r.submit("t1", abi.Settings{})
		r.started("n1")
		r.item("started", "n1", userMessage)
		r.item("completed", "n1", userMessage)
		r.completed("n1", "completed")
		r.result("turn/start", turnResult("n1"))
		wantKinds(t, r.all, "call turn/start", "started t1 n1", "accepted t1", "ended t1 completed")
	})
	t.Run("without any proof the answer decides", func(t *testing.T) {
		r := ready(t)
		r.all = nil
		r.submit("t1", abi.Settings{})
		r.completed("n1", "completed")
		wantKinds(t, r.all, "call turn/start")
		r.result("turn/start", turnResult("n1"))
		wantKinds(t, r.all, "call turn/start", "accepted t1", "started t1 n1", "ended t1 completed")
	})
	t.Run("what ended was a turn of the agent's own", func(t *testing.T) {
		r := ready(t)
		r.all = nil
		r.submit("t1", abi.Settings{})
		r.started("n0")
		r.completed("n0", "completed")
		r.result("turn/start", turnResult("n1"))
		r.started("n1")
		r.completed("n1", "completed")
		wantKinds(t, r.all, "call turn/start", "started t1 n0", "accepted t1", "started t1 n1", "ended t1 completed")
	})
	t.Run("the message comes after the end", func(t *testing.T) {
		r := ready(t)
		r.all = nil
		r.submit("t1", abi.Settings{})
		r.completed("n1", "completed")
		r.item("completed", "n1", userMessage)
		wantKinds(t, r.all, "call turn/start", "accepted t1", "started t1 n1", "ended t1 completed")
	})
	t.Run("the message shows that what began is the agent's own", func(t *testing.T) {
		r := ready(t)
		r.all = nil
		r.submit("t1", abi.Settings{})
		r.started("n0")
		r.item("started", "n1", userMessage)
		r.completed("n0", "completed")
		r.completed("n1", "completed")
		wantKinds(t, r.all, "call turn/start", "started t1 n0", "started  n0", "accepted t1", "started t1 n1", "ended  completed", "ended t1 completed")
	})
	t.Run("what began is the agent's own and still runs", func(t *testing.T) {
		r := ready(t)
		r.all = nil
		r.submit("t1", abi.Settings{})
		r.started("n0")
		r.result("turn/start", turnResult("n1"))
		r.started("n1")
		r.completed("n0", "completed")
		r.completed("n1", "completed")
		wantKinds(t, r.all, "call turn/start", "started t1 n0", "started  n0", "accepted t1", "started t1 n1", "ended  completed", "ended t1 completed")
	})
	t.Run("the start is refused although a turn began", func(t *testing.T) {
		r := ready(t)
		r.all = nil
		r.submit("t1", abi.Settings{})
		r.started("n0")
		r.fail("turn/start", abi.CallError{Code: -1, Message: "no"})
		r.completed("n0", "completed")
		wantKinds(t, r.all, "call turn/start", "started t1 n0", "rejected t1", "started  n0", "ended  completed")
	})
	t.Run("a repeated end is nothing", func(t *testing.T) {
		r := ready(t)
		r.begin("t1", "n1", abi.Settings{})
		wantKinds(t, r.completed("n1", "completed"), "ended t1 completed")
		r.submit("t2", abi.Settings{})
		if got := r.completed("n1", "completed"); len(got) != 0 {
			t.Errorf("got %s", abi.AppendEffects(nil, got))
		}
	})
}

func TestDeliveryIsAcceptedOnceByTheFirstEvidence(t *testing.T) {
	r := ready(t)
	r.submit("t1", abi.Settings{})
	if got := one(t, r.result("turn/start", turnResult("n1")), delivery); got.Evidence != "turn/start" {
		t.Errorf("delivery = %+v", got)
	}
	r.started("n1")
	effects := r.item("started", "n1", userMessage)
	none(t, effects, delivery)
	// Our own message is in the journal already (A2).
	none(t, effects, anItem)

	r = ready(t)
	r.submit("t1", abi.Settings{})
	effects = r.item("started", "n1", userMessage)
	if got := one(t, effects, delivery); got.Evidence != "userMessage" {
		t.Errorf("delivery = %+v", got)
	}
	wantKinds(t, effects, "accepted t1", "started t1 n1")
	none(t, r.result("turn/start", turnResult("n1")), delivery)
}

func TestQ3_AChildsTurnEndsNothing(t *testing.T) {
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{})
	for _, method := range []string{"turn/started", "turn/completed"} {
		if got := r.notify(method, `{"threadId":"child-1","turn":{"id":"n1","status":"completed"}}`); len(got) != 0 {
			t.Errorf("%s of a child gave %s", method, abi.AppendEffects(nil, got))
		}
	}
	wantKinds(t, r.completed("n1", "completed"), "ended t1 completed")
}

func TestATurnTheAgentBeginsByItselfHasNoID(t *testing.T) {
	r := ready(t)
	wantKinds(t, r.started("n7"), "started  n7")
	if got := one(t, r.item("completed", "n7", `{"type":"agentMessage","id":"m","text":"x"}`), anItem); got.Turn != "" {
		t.Errorf("item = %+v", got)
	}
	wantKinds(t, r.completed("n7", "completed"), "ended  completed")
}

func TestRule24_AMessageJoinsTheTurnTheAgentRunsByItself(t *testing.T) {
	r := ready(t)
	r.started("n7")
	wantKinds(t, r.submit("t1", abi.Settings{}), "call turn/start")
	wantKinds(t, r.result("turn/start", turnResult("n7")), "ended  completed", "started t1 n7", "accepted t1")
	if got := one(t, r.item("completed", "n7", `{"type":"agentMessage","id":"m","text":"x"}`), anItem); got.Turn != "t1" {
		t.Errorf("item = %+v", got)
	}
	wantKinds(t, r.completed("n7", "completed"), "ended t1 completed")
}

func TestAMessageSentWhileTheAgentsOwnTurnEndsGetsATurnOfItsOwn(t *testing.T) {
	r := ready(t)
	r.started("n7")
	r.submit("t1", abi.Settings{})
	wantKinds(t, r.completed("n7", "completed"), "ended  completed")
	wantKinds(t, r.result("turn/start", turnResult("n8")), "accepted t1")
	wantKinds(t, r.started("n8"), "started t1 n8")
}

func TestS1_AStopBeforeTheTurnStartsIsSentWhenItDoes(t *testing.T) {
	for _, answered := range []bool{true, false} {
		r := ready(t)
		r.submit("t1", abi.Settings{})
		if answered {
			r.result("turn/start", turnResult("n1"))
		}
		// Codex answers "no active turn to interrupt" before turn/started.
		wantKinds(t, r.stop("t1"))
		c := one(t, r.started("n1"), call)
		if c.Method != "turn/interrupt" || at(t, c.Params, "turnId") != "n1" || at(t, c.Params, "threadId") != threadID || c.TimeoutMS == 0 {
			t.Errorf("call = %+v %s", c, c.Params)
		}
	}
}

func TestS1_OneInterruptPerTurnAndNoneForANewerOne(t *testing.T) {
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{})
	wantKinds(t, r.stop("t1"), "call turn/interrupt")
	wantKinds(t, r.stop("t1"))
	wantKinds(t, r.stop(""))
	none(t, r.fail("turn/interrupt", abi.CallError{Local: "timeout"}), call)
	wantKinds(t, r.completed("n1", "interrupted"), "ended t1 interrupted")
	wantKinds(t, r.stop("t1"))
	r.begin("t2", "n2", abi.Settings{})
	wantKinds(t, r.stop("t1"))
	wantKinds(t, r.stop("t2"), "call turn/interrupt")
}

func TestS2_AStoppedTurnIsInterruptedWhateverCodexCallsItsEnd(t *testing.T) {
	for name, end := range map[string]func(r *rig) []abi.Effect{
		"interrupted": func(r *rig) []abi.Effect { return r.completed("n1", "interrupted") },
		"completed":   func(r *rig) []abi.Effect { return r.completed("n1", "completed") },
		"failed":      func(r *rig) []abi.Effect { return r.notify("turn/completed", failedTurn(`"serverOverloaded"`)) },
		"unauthorized": func(r *rig) []abi.Effect {
			r.notify("error", providerError("false", `"unauthorized"`))
			return r.completed("n1", "completed")
		},
		"another word": func(r *rig) []abi.Effect { return r.completed("n1", "somethingNew") },
	} {
		t.Run(name, func(t *testing.T) {
			r := ready(t)
			r.begin("t1", "n1", abi.Settings{})
			r.stop("t1")
			effects := end(r)
			got := one(t, effects, turnEnded)
			if got.Status != abi.TurnInterrupted || got.Outage || got.Code != "" || got.Message != "" {
				t.Errorf("turn_ended = %+v", got)
			}
			none(t, effects, warning)
		})
	}
	r := ready(t)
	r.started("n7")
	r.stop("")
	if got := one(t, r.completed("n7", "failed"), turnEnded); got.Status != abi.TurnInterrupted {
		t.Errorf("the agent's own turn: %+v", got)
	}
}

func TestAStopWithoutATurnInterruptsTheAgentsOwn(t *testing.T) {
	r := ready(t)
	r.started("n7")
	wantKinds(t, r.stop("t1"))
	wantKinds(t, r.stop(""), "call turn/interrupt")

	r = ready(t)
	r.started("n7")
	r.completed("n7", "completed")
	r.begin("t1", "n1", abi.Settings{})
	if got := one(t, r.stop(""), call); at(t, got.Params, "turnId") != "n1" {
		t.Errorf("interrupted %s", got.Params)
	}
}

func TestT6_LateItemsBelongToTheTurnThatEnded(t *testing.T) {
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{})
	r.completed("n1", "interrupted")
	r.begin("t2", "n2", abi.Settings{})
	if got := one(t, r.item("completed", "n1", `{"type":"commandExecution","id":"c","command":"sleep 30","status":"completed","exitCode":0}`), anItem); got.Turn != "t1" {
		t.Errorf("item = %+v", got)
	}
}

func failedTurn(info string) string {
	return `{"threadId":"` + threadID + `","turn":{"id":"n1","status":"failed","error":{"message":"boom","codexErrorInfo":` + info + `,"additionalDetails":null}}}`
}

func TestT7_AFailureSaysWhyAndWhetherTheNextMessageWouldMeetIt(t *testing.T) {
	for info, want := range map[string]abi.TurnEnded{
		`"usageLimitExceeded"`:    {Code: "usageLimitExceeded", Outage: true},
		`"rateLimitExceeded"`:     {Code: "rateLimitExceeded", Outage: true},
		`"serverOverloaded"`:      {Code: "serverOverloaded", Outage: true},
		`"internalServerError"`:   {Code: "internalServerError", Outage: true},
		`"unauthorized"`:          {Code: "unauthorized", Outage: true},
		`"contextWindowExceeded"`: {Code: "contextWindowExceeded"},
		`"badRequest"`:            {Code: "badRequest"},
		`"cyberPolicy"`:           {Code: "cyberPolicy"},
		// A dropped stream and HTTP 503 are "other" (seen): an unknown cause may meet
		// the next message too.
		`"other"`:        {Code: "other", Outage: true},
		`null`:           {Code: "other", Outage: true},
		`"somethingNew"`: {Code: "somethingNew"},
		`{"httpConnectionFailed":{"httpStatusCode":502}}`:          {Code: "httpConnectionFailed", Outage: true},
		`{"responseStreamDisconnected":{"httpStatusCode":null}}`:   {Code: "responseStreamDisconnected", Outage: true},
		`{"responseTooManyFailedAttempts":{"httpStatusCode":429}}`: {Code: "responseTooManyFailedAttempts", Outage: true},
		`{"activeTurnNotSteerable":{"turnKind":"review"}}`:         {Code: "activeTurnNotSteerable"},
		`{"somethingElse":{"httpStatusCode":401}}`:                 {Code: "somethingElse", Outage: true},
	} {
		t.Run(info, func(t *testing.T) {
			r := ready(t)
			r.begin("t1", "n1", abi.Settings{})
			want.Turn, want.Status, want.StopReason, want.Message = "t1", abi.TurnFailed, "failed", "boom"
			if diff := cmp.Diff(&want, one(t, r.notify("turn/completed", failedTurn(info)), turnEnded)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func providerError(retry string, info string) string {
	return `{"threadId":"` + threadID + `","turnId":"n1","willRetry":` + retry + `,"error":{"message":"Reconnecting... 1/5","codexErrorInfo":` + info + `,"additionalDetails":"connection refused"}}`
}

func TestT7_TheReasonOfTheRetriesIsNotForgotten(t *testing.T) {
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{})
	got := one(t, r.notify("error", providerError("true", `{"responseStreamDisconnected":{"httpStatusCode":null}}`)), warning)
	if got.Code != "provider_retry" || !strings.Contains(got.Message, "connection refused") {
		t.Errorf("warning = %+v", got)
	}
	none(t, r.notify("error", providerError("true", `{"responseStreamDisconnected":{"httpStatusCode":null}}`)), warning)
	r.notify("error", providerError("false", `"other"`))
	// 0.153.4 and 0.171.0 end with "other" after their last retry.
	if got := one(t, r.notify("turn/completed", failedTurn(`"other"`)), turnEnded); !got.Outage || got.Code != "responseStreamDisconnected" {
		t.Errorf("turn_ended = %+v", got)
	}
}

func TestT7_ATurnWithoutAWordIsSaidToBeEmptyAndNoOtherIs(t *testing.T) {
	r := ready(t)
	empty := func(turn, native string, happens func()) []*abi.Warning {
		t.Helper()
		r.begin(turn, native, abi.Settings{})
		r.item("started", native, `{"type":"userMessage","id":"u","clientId":"client-`+turn+`"}`)
		happens()
		return only(r.completed(native, "completed"), warning)
	}
	if w := empty("t1", "n1", func() {}); len(w) != 1 || w[0].Code != "empty_turn" {
		t.Errorf("warnings %+v", w)
	}
	// Each turn that is empty says so.
	if w := empty("t2", "n2", func() {}); len(w) != 1 {
		t.Errorf("warnings %+v", w)
	}
	for name, happens := range map[string]func(){
		"says": func() { r.item("completed", "x", `{"type":"agentMessage","id":"m","text":"x"}`) },
		"streams": func() {
			r.notify("item/agentMessage/delta", `{"threadId":"`+threadID+`","turnId":"x","itemId":"m","delta":"x"}`)
		},
		"does": func() {
			r.item("started", "x", `{"type":"commandExecution","id":"c","command":"ls","status":"inProgress"}`)
		},
		"asks": func() {
			r.ask("9", "item/tool/requestUserInput", `{"threadId":"`+threadID+`","turnId":"x","itemId":"q","questions":[{"id":"a","header":"A","question":"Which?","isOther":true,"isSecret":false,"options":null}]}`)
		},
		"has a child work": func() {
			r.notify("item/started", `{"threadId":"child-1","turnId":"y","item":{"type":"agentMessage","id":"m","text":""}}`)
		},
	} {
		if w := empty("t-"+name, "x", happens); len(w) != 0 {
			t.Errorf("%s: warnings %+v", name, w)
		}
		r = ready(t)
	}
	// What came before turn/start was answered counts, and what the agent's own turn
	// showed does not.
	r.submit("t3", abi.Settings{})
	r.started("n3")
	r.item("completed", "n3", `{"type":"agentMessage","id":"m","text":"x"}`)
	r.result("turn/start", turnResult("n3"))
	none(t, r.completed("n3", "completed"), warning)
	r.submit("t4", abi.Settings{})
	r.started("n4")
	r.item("completed", "n4", `{"type":"agentMessage","id":"m","text":"x"}`)
	r.result("turn/start", turnResult("n5"))
	r.started("n5")
	none(t, r.completed("n4", "completed"), warning)
	one(t, r.completed("n5", "completed"), warning)
	// A failure or a stop says enough, and the agent's own turns owe nobody a word.
	r.begin("t6", "n1", abi.Settings{})
	none(t, r.notify("turn/completed", failedTurn(`"serverOverloaded"`)), warning)
	r.begin("t7", "n7", abi.Settings{})
	r.stop("t7")
	none(t, r.completed("n7", "interrupted"), warning)
	r.started("n8")
	none(t, r.completed("n8", "completed"), warning)
	// A message that joined what the agent does by itself is no turn of its own.
	r.started("n9")
	r.item("completed", "n9", `{"type":"agentMessage","id":"m","text":"x"}`)
	r.submit("t9", abi.Settings{})
	r.result("turn/start", turnResult("n9"))
	none(t, r.completed("n9", "completed"), warning)
}

func TestT7_AnErrorMakesACompletedTurnAFailedOne(t *testing.T) {
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{})
	r.notify("error", providerError("false", `"internalServerError"`))
	if got := one(t, r.completed("n1", "completed"), turnEnded); got.Status != abi.TurnFailed || got.Code != "internalServerError" || !got.Outage {
		t.Errorf("turn_ended = %+v", got)
	}
}

func TestL6_AnUnauthorizedTurnAsksForASignInUntilOneWorks(t *testing.T) {
	open := func(needsAuth string) *rig {
		r := newRig(t)
		r.step("open", abi.Event{Open: openEvent()})
		r.result("initialize", `{}`)
		r.result("account/read", `{"account":{"type":"chatgpt"},"requiresOpenaiAuth":`+needsAuth+`}`)
		r.result("model/list", models)
		r.result("collaborationMode/list", modes)
		r.result("thread/start", threadResult(threadID))
		r.begin("t1", "n1", abi.Settings{})
		return r
	}
	r := open("true")
	effects := r.notify("turn/completed", failedTurn(`"unauthorized"`))
	if got := one(t, effects, problem); got.Needs != abi.NeedsSignIn {
		t.Errorf("problem = %+v", got)
	}
	if got := one(t, r.notify("account/updated", `{"authMode":"chatgpt"}`), problem); !got.Resolved {
		t.Errorf("problem = %+v", got)
	}

	r = open("true")
	r.notify("turn/completed", failedTurn(`"unauthorized"`))
	r.begin("t2", "n2", abi.Settings{})
	if got := one(t, r.completed("n2", "completed"), problem); !got.Resolved {
		t.Errorf("problem = %+v", got)
	}

	// Another provider's 401 is not mended by a Codex sign-in.
	r = open("false")
	none(t, r.notify("turn/completed", failedTurn(`{"httpConnectionFailed":{"httpStatusCode":401}}`)), problem)
}

func TestRule24_SteeringGoesIntoTheRunningTurn(t *testing.T) {
	steer := func(r *rig, id string) []abi.Effect {
		return r.step("steer", abi.Event{Steer: &abi.Steer{Turn: "t1", Steer: id, ClientID: "client-" + id, Content: []abi.Content{{Type: abi.ContentText, Text: "rather " + id}}}})
	}
	r := ready(t)
	r.begin("t1", "n1", abi.Settings{})
	c := one(t, steer(r, "s1"), call)
	want := `{"threadId":"thread-1","clientUserMessageId":"client-s1","input":[{"type":"text","text":"rather s1"}],"expectedTurnId":"n1"}`
	if c.Method != "turn/steer" || string(c.Params) != want || c.Delivers != "s1" {
		t.Errorf("call = %+v %s", c, c.Params)
	}
	wantKinds(t, r.result("turn/steer", `{"turnId":"n1"}`), "accepted s1")
	effects := r.item("started", "n1", `{"type":"userMessage","id":"u","clientId":"client-s1"}`)
	if len(effects) != 0 {
		t.Errorf("the steering message was told twice: %s", abi.AppendEffects(nil, effects))
	}

	// The message in the thread is proof as well, and the answer then is not news.
	steer(r, "s2")
	wantKinds(t, r.item("started", "n1", `{"type":"userMessage","id":"u2","clientId":"client-s2"}`), "accepted s2")
	wantKinds(t, r.fail("turn/steer", abi.CallError{Code: -32600, Message: "x"}))

	steer(r, "s3")
	got := one(t, r.fail("turn/steer", abi.CallError{Code: -32600, Message: "no active turn to steer"}), delivery)
	if got.Turn != "s3" || got.Status != abi.DeliveryRejected {
		t.Errorf("delivery = %+v", got)
	}
	steer(r, "s4")
	wantKinds(t, r.fail("turn/steer", abi.CallError{Local: "timeout"}), "unknown s4")
	steer(r, "s6")
	wantKinds(t, r.fail("turn/steer", abi.CallError{Local: "schema"}), "not_sent s6")
	// An answer after the turn's end still settles its message.
	steer(r, "s7")
	r.completed("n1", "completed")
	wantKinds(t, r.fail("turn/steer", abi.CallError{Code: -32600, Message: "no active turn to steer"}), "rejected s7")
	wantKinds(t, steer(r, "s5"), "not_sent s5")
}

func TestASteerBeforeTheTurnStartsIsSentWhenItDoesOrReturned(t *testing.T) {
	ev := abi.Event{Steer: &abi.Steer{Turn: "t1", Steer: "s1", ClientID: "c", Content: []abi.Content{{Type: abi.ContentText, Text: "x"}}}}
	r := ready(t)
	r.submit("t1", abi.Settings{})
	wantKinds(t, r.step("steer", ev))
	wantKinds(t, r.started("n1"), "started t1 n1", "call turn/steer")

	r = ready(t)
	r.submit("t1", abi.Settings{})
	r.step("steer", ev)
	wantKinds(t, r.fail("turn/start", abi.CallError{Code: -1, Message: "no"}), "not_sent s1", "rejected t1")
}
