package model

import (
	"encoding/json"
	"slices"
	"strings"
)

// isReview knows the request that judges an approval in the user's place. Codex 0.153.4
// and 0.171.0 ask the model "codex-auto-review" when the catalog has it, else the
// thread's own, so the fence around what is to be judged is the surer sign.
func isReview(r *Request) bool {
	return strings.Contains(r.LastUser, ">>> APPROVAL REQUEST START") || isClassifier(r)
}

// isClassifier knows the request of Claude's mode "auto", which judges a tool call in up to two stages.
func isClassifier(r *Request) bool {
	return len(r.Tools) == 0 && strings.HasPrefix(r.LastUser, "<transcript>")
}

// refusal is the verdict an unscripted review gets, in the form that was asked for.
func refusal(r *Request) Action {
	const why = "No step of the script allows this."
	if isClassifier(r) {
		return Classification(false, why)
	}
	return Verdict(false, why)
}

// Classification is the action that answers Claude's classifier, in the words of both
// pinned versions: 0.49.0 reads <block>, 0.101.0 a severity whose border is 50.
func Classification(allow bool, reason string) Action {
	if allow {
		return Text("<block>no</block> <severity>5</severity>")
	}
	return Text("<block>yes</block><reason>" + reason + "</reason> <severity>95</severity>")
}

// Verdict is the action that answers a review of Codex: allowed or denied, with the reason the user is told.
func Verdict(allow bool, rationale string) Action {
	verdict := map[string]string{"risk_level": "low", "user_authorization": "high", "outcome": "allow", "rationale": rationale}
	if !allow {
		verdict["risk_level"], verdict["user_authorization"], verdict["outcome"] = "high", "low", "deny"
	}
	encoded, err := json.Marshal(verdict)
	if err != nil { // strings always encode
		panic(err)
	}
	return Text(string(encoded))
}

// titleTool is what Grok makes the model call to name a session by its first message.
const titleTool = "session_title"

// isTitle knows the request that names a session: a text beside the first turn, Grok's
// forced call of one tool, or its reminder at the end of the whole conversation.
func isTitle(r *Request) bool {
	if slices.Equal(r.Tools, []string{titleTool}) || strings.HasPrefix(r.LastUser, "<system-reminder>Generate a session title") {
		return true
	}
	return len(r.Tools) == 0 && strings.Contains(strings.ToLower(r.Instructions+r.LastUser), "title")
}

// title is the answer to a title request that no step mentions.
func title(r *Request) Action {
	if slices.Contains(r.Tools, titleTool) {
		return Call("", titleTool, `{"session_title":"Scripted session"}`)
	}
	return Text("Scripted session")
}

// isAside knows a request that carries the whole conversation and its tools, but is no
// turn: Grok 1.0.41 sums up the turn for a dashboard, Claude guesses the next message.
func isAside(r *Request) bool {
	return strings.HasPrefix(r.LastUser, "<system-reminder>Write an ultra-short dashboard line") ||
		strings.HasPrefix(r.LastUser, "[SUGGESTION MODE:")
}
