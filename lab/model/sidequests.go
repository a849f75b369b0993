package model

import (
	"encoding/json"
	"strings"
)

// isReview knows the request that judges an approval in the user's place. Codex 0.153.4
// and 0.171.0 ask the model "codex-auto-review" when the catalog has it, else the
// thread's own, so the fence around what is to be judged is the surer sign.
func isReview(r *Request) bool {
	return strings.Contains(r.LastUser, ">>> APPROVAL REQUEST START")
}

// refusal is the verdict an unscripted review gets, in the form that Codex asks for.
const refusal = `{"risk_level":"high","user_authorization":"low","outcome":"deny","rationale":"No step of the script allows this."}`

// Verdict is the action that answers a review: allowed or denied, with the reason the user is told.
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

// isTitle knows the request that names a session.
func isTitle(r *Request) bool {
	return len(r.Tools) == 0 && strings.Contains(strings.ToLower(r.Instructions+r.LastUser), "title")
}
