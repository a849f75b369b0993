// Package model is a scripted stand-in for the model endpoint of a coding-agent harness.
//
// A real harness, started by a live test, is pointed at a [Server] on loopback instead
// of its provider. The server speaks the three streaming protocols that harnesses use
// and answers every request from a [Script], so that a test decides what "the model"
// does and can afterwards read what reached it:
//
//	srv := model.Start(t, model.Script{Steps: []model.Step{
//		{Reply: []model.Action{model.Call("call_1", "exec_command", `{"cmd":"true"}`)}},
//		{Reply: []model.Action{model.Text("done")}},
//	}})
//	// … run the harness against srv.URL() + "/v1" …
//	first := srv.Requests()[0] // first.Model, first.Effort, first.Instructions, first.Body
//
// # Endpoints
//
//	POST /v1/responses         OpenAI Responses, server-sent events or one JSON object
//	POST /v1/messages          Anthropic Messages, likewise
//	POST /v1/chat/completions  OpenAI chat completions, likewise
//	POST /v1/messages/count_tokens, GET /v1/models
//
// Every other path is answered 404 and logged, so that a test sees what a harness pings.
// The "/v1" prefix is optional.
//
// # Which step answers
//
// A request takes the first step, in script order, that is not used up and whose
// [Match] agrees. Steps are used up after one request unless Repeat is set. A match
// without Kind means an ordinary request of the agent; side requests, which harnesses
// make on their own, have kinds of their own ([KindTitle], [KindReview], [KindAside]) and never take
// a step that was meant for the agent. An unscripted title request or aside gets a fixed text
// and an unscripted review is refused; an unscripted request of the agent is answered with HTTP 400,
// which no harness retries, and counted in [Server.Unmatched].
//
// # Script files
//
// [Parse] and [Load] read a script as JSON. Unknown members are errors.
//
//	{"steps": [
//	  {"name": "asks", "match": {"instructions": "Plan Mode", "last_user": "plan"},
//	   "reply": [
//	     {"reasoning": "Which colour?"},
//	     {"text": "One question first.", "chunks": 3},
//	     {"call": {"id": "call_1", "name": "request_user_input", "arguments": {"questions": []}}}]},
//	  {"match": {"kind": "review"}, "repeat": true, "reply": [{"text": "{\"outcome\":\"allow\"}"}]},
//	  {"reply": [{"http": {"status": 429, "retry_after": "1", "body": {"error": {"message": "slow down"}}}}]},
//	  {"reply": [{"text": "half"}, {"disconnect": true}]},
//	  {"reply": [{"wait": "gate"}, {"text": "after Server.Release(\"gate\")"}]}
//	]}
//
// The actions of a reply run in order; see [Action].
package model
