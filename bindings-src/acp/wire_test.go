package acp_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// member reads a string out of an object.
func member(t testing.TB, raw []byte, path string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	for _, k := range strings.Split(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = m[k]
	}
	s, _ := v.(string)
	return s
}

// withOption is a session with another current value of an option; it also serves as
// the answer to the setter.
func withOption(t testing.TB, session, id, value string) string {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal([]byte(session), &s); err != nil {
		t.Fatal(err)
	}
	list, _ := s["configOptions"].([]any)
	for _, o := range list {
		if m, ok := o.(map[string]any); ok && m["id"] == id {
			if m["type"] == "boolean" {
				m["currentValue"] = value == "true"
			} else {
				m["currentValue"] = value
			}
		}
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// without is a session without an option.
func without(t testing.TB, session, id string) string {
	t.Helper()
	var s map[string]any
	if err := json.Unmarshal([]byte(session), &s); err != nil {
		t.Fatal(err)
	}
	var kept []any
	for _, o := range s["configOptions"].([]any) {
		if o.(map[string]any)["id"] != id {
			kept = append(kept, o)
		}
	}
	s["configOptions"] = kept
	b, _ := json.Marshal(s)
	return string(b)
}

// options is the list of config options of a session.
func options(t testing.TB, session string) string {
	t.Helper()
	var s struct{ ConfigOptions json.RawMessage }
	if err := json.Unmarshal([]byte(session), &s); err != nil {
		t.Fatal(err)
	}
	return string(s.ConfigOptions)
}

func updateParams(update string) string {
	return `{"sessionId":"` + session + `","update":` + update + `}`
}

func modeUpdate(mode string) string {
	return updateParams(`{"sessionUpdate":"current_mode_update","currentModeId":"` + mode + `"}`)
}

func optionsUpdate(t testing.TB, session string) string {
	t.Helper()
	return updateParams(`{"sessionUpdate":"config_option_update","configOptions":` + options(t, session) + `}`)
}

func chunk(text string) string {
	return updateParams(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"},"messageId":"m1"}`)
}

func toolCall(id, kind, status string) string {
	return updateParams(`{"sessionUpdate":"tool_call","toolCallId":"` + id + `","title":"` + id + `","kind":"` + kind + `","status":"` + status + `","rawInput":{"command":"make"}}`)
}

func permission(id, kind string) string {
	return `{"sessionId":"` + session + `","toolCall":{"toolCallId":"` + id + `","title":"` + id + `","kind":"` + kind + `","rawInput":{"command":"make"}},"options":[` +
		`{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"},{"optionId":"odd","name":"Odd","kind":"allow_forever"}]}`
}

const endTurn = `{"stopReason":"end_turn"}`
