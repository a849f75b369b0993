package claude_test

import (
	"strings"
	"testing"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/bindings-src/acp/acptest"
)

// The form of a question as it comes before its tool call, seen on the adapter 0.49.0
// when the machine is busy.
func earlyForm(tool, properties string) string {
	return `{"mode":"form","sessionId":"s-1","toolCallId":"` + tool + `","message":"Please answer.","requestedSchema":{"type":"object","properties":` + properties + `}}`
}

const questionCall = `{"sessionUpdate":"tool_call","toolCallId":"q1","kind":"other","status":"pending","_meta":{"claudeCode":{"toolName":"AskUserQuestion"}}}`

func TestC9_AQuestionnaireThatOvertakesItsToolCallIsStillOne(t *testing.T) {
	for version, properties := range forms {
		r := planning(t, abi.PermissionDefault)
		_, effects := r.Ask("1", "elicitation/create", earlyForm("q1", properties))
		acptest.None(t, effects, acptest.Opened)
		if s := acptest.One(t, effects, acptest.TimerSet); s.AfterMS <= 0 {
			t.Fatalf("%s: timer %+v", version, s)
		}
		effects = r.Notify("session/update", params(questionCall))
		if x := acptest.One(t, effects, acptest.Opened); x.Type != abi.InteractionQuestion || len(x.Fields) != 2 {
			t.Fatalf("%s: %+v", version, x)
		}
		acptest.None(t, r.Timer("tool"), acptest.Opened)
		acptest.None(t, r.Notify("session/update", params(strings.Replace(questionCall, `"tool_call"`, `"tool_call_update"`, 1))), acptest.Opened)
	}
}

func TestAFormWhoseToolCallNeverComesIsShownAsAForm(t *testing.T) {
	r := planning(t, abi.PermissionDefault)
	_, effects := r.Ask("1", "elicitation/create", earlyForm("nobody", forms["0.49.0"]))
	acptest.None(t, effects, acptest.Opened)
	acptest.None(t, r.Notify("session/update", params(questionCall)), acptest.Opened)
	if x := acptest.One(t, r.Timer("tool"), acptest.Opened); x.Type != abi.InteractionForm {
		t.Fatalf("%+v", x)
	}
}

func TestRule14_AFormThatWaitsForItsToolCallIsNotLostByAStop(t *testing.T) {
	r := planning(t, abi.PermissionDefault)
	r.Ask("1", "elicitation/create", earlyForm("q1", forms["0.49.0"]))
	x := acptest.One(t, r.Stop("t1"), acptest.Opened)
	if reply := acptest.One(t, r.Withdraw(x.Key, abi.WithdrawStop), acptest.Reply); string(reply.Result) != `{"action":"cancel"}` {
		t.Fatalf("%s", reply.Result)
	}
}

func TestA1_AFormThatIsTakenBackBeforeItsToolCallCameExpires(t *testing.T) {
	r := planning(t, abi.PermissionDefault)
	r.Ask("1", "elicitation/create", earlyForm("q1", forms["0.49.0"]))
	effects := r.Notify("$/cancel_request", `{"requestId":1}`)
	if c := acptest.One(t, effects, acptest.Closed); c.Disposition != abi.DispositionExpired {
		t.Fatalf("%+v", c)
	}
	acptest.None(t, r.Notify("session/update", params(questionCall)), acptest.Opened)
}
