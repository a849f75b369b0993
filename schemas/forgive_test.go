package schemas_test

import (
	"encoding/json"
	"testing"

	"github.com/aoagents/ao-host/schemas"
)

func TestT3_ValuesThatTheSchemaAsksAReaderToDefaultOrSkipAreNoViolation(t *testing.T) {
	v := openACP(t, "claude").For("0.101.0")
	option := `{"id":"model","name":"Model","type":"select","currentValue":"a","options":[{"value":"a","name":"A"}]}`
	update := func(u string) string { return `{"sessionId":"s","update":` + u + `}` }
	for _, c := range []struct {
		name   string
		dir    schemas.Direction
		kind   schemas.Kind
		method string
		body   string
		// path is where it is refused, "-" where it is not.
		path string
	}{
		{"defaulted: a status nobody knows", from, schemas.Notification, "session/update", update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"paused"}`), "-"},
		{"defaulted: a title that is no text", from, schemas.Notification, "session/update", update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","title":7}`), "-"},
		{"defaulted: content that is no list", from, schemas.Notification, "session/update", update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","content":{"type":"text","text":"x"}}`), "-"},
		{"skipped: unwrapped content among the rest", from, schemas.Notification, "session/update", update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","content":[{"type":"text","text":"x"},{"type":"hologram"}]}`), "-"},
		{"skipped: an option of a new type", from, schemas.Notification, "session/update", update(`{"sessionUpdate":"config_option_update","configOptions":[` + option + `,{"id":"t","name":"Temperature","type":"slider","currentValue":0.5}]}`), "-"},
		{"skipped: a command without a name", from, schemas.Notification, "session/update", update(`{"sessionUpdate":"available_commands_update","availableCommands":[{"description":"x"}]}`), "-"},
		{"not forgiven: no tool call id", from, schemas.Notification, "session/update", update(`{"sessionUpdate":"tool_call_update","status":"completed"}`), "/update"},
		{"not forgiven: a tool call id that is a number", from, schemas.Notification, "session/update", update(`{"sessionUpdate":"tool_call_update","toolCallId":7}`), "/update/toolCallId"},
		{"not forgiven: an update of a new kind", from, schemas.Notification, "session/update", update(`{"sessionUpdate":"hologram_update"}`), "/update"},
		{"not forgiven: the list itself is missing", from, schemas.Notification, "session/update", update(`{"sessionUpdate":"config_option_update"}`), "/update"},
		{"not forgiven: a chunk without content", from, schemas.Notification, "session/update", update(`{"sessionUpdate":"agent_message_chunk"}`), "/update"},
		{"not forgiven: a text that is none", from, schemas.Notification, "session/update", update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":null}}`), "/update/content/text"},
		{"defaulted: capabilities that are none", from, schemas.Result, "initialize", `{"protocolVersion":1,"agentCapabilities":"all","authMethods":[7]}`, "-"},
		{"defaulted: modes of another shape", from, schemas.Result, "session/new", `{"sessionId":"s","modes":["plan"],"configOptions":{}}`, "-"},
		{"not forgiven: no session id", from, schemas.Result, "session/new", `{"modes":null}`, ""},
		{"not forgiven: no reason for stopping", from, schemas.Result, "session/prompt", `{}`, ""},
		{"null for a response without required members", from, schemas.Result, "session/load", `null`, "-"},
		{"null for a response with one", from, schemas.Result, "session/new", `null`, ""},
		{"an unknown permission kind", from, schemas.Request, "session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t","kind":"teleport"},"options":[{"optionId":"a","name":"A","kind":"allow_later"}]}`, "/options/0/kind"},

		// A form told apart by its mode must be whole, although a mode of a newer
		// version may hold anything.
		{"a form without its schema", from, schemas.Request, "elicitation/create", `{"mode":"form","message":"m","sessionId":"s"}`, ""},
		{"a URL without one", from, schemas.Request, "elicitation/create", `{"mode":"url","message":"m","sessionId":"s","elicitationId":"e"}`, ""},
		{"a mode of a newer version", from, schemas.Request, "elicitation/create", `{"mode":"hologram","message":"m","sessionId":"s","beam":1}`, "-"},
		{"a form", from, schemas.Request, "elicitation/create", `{"mode":"form","message":"m","sessionId":"s","requestedSchema":{"type":"object","properties":{"value":{"type":"string"}}}}`, "-"},

		// What goes out is held to the schema as it is.
		{"out: a member to be defaulted", to, schemas.Request, "initialize", `{"protocolVersion":1,"clientCapabilities":"all"}`, "/clientCapabilities"},
		{"out: null for a list", to, schemas.Request, "session/new", `{"cwd":"/workspace","mcpServers":null}`, "/mcpServers"},
		{"out: a decision nobody offers", to, schemas.Result, "session/request_permission", `{"outcome":{"outcome":"maybe"}}`, "/outcome"},
		{"out: the answer to a form", to, schemas.Result, "elicitation/create", `{"action":"accept","content":{"question_0":"Red","question_1":["S"]}}`, "-"},
		{"out: an answer that is an object", to, schemas.Result, "elicitation/create", `{"action":"accept","content":{"question_0":{}}}`, "/content/question_0"},
		{"out: null to a request of the agent", to, schemas.Result, "fs/write_text_file", `null`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := violation(t, v, c.dir, c.kind, c.method, c.body)
			switch {
			case c.path == "-" && got != nil:
				t.Errorf("refused: %v", got)
			case c.path != "-" && got == nil:
				t.Error("accepted")
			case got != nil && got.Path != c.path:
				t.Errorf("refused at %q, want %q: %v", got.Path, c.path, got)
			}
		})
	}
}

func TestEachAnnotationForgivesWhatItSaysAndOnlyOnTheWayIn(t *testing.T) {
	for _, c := range []struct{ schema, body string }{
		{`{"properties":{"a":{"type":"string","x-deserialize-default-on-error":true}}}`, `{"a":7}`},
		{`{"properties":{"a":{"$ref":"#/definitions/S","x-deserialize-default-on-error":true}}}`, `{"a":7}`},
		{`{"properties":{"a":{"type":"array","items":{"type":"string"},"x-deserialize-skip-invalid-items":true}}}`, `{"a":["x",7]}`},
		{`{"properties":{"a":{"type":"string","x-deserialize-default-on-null":true}}}`, `{"a":null}`},
		{`{"properties":{"a":{"$ref":"#/definitions/S","x-deserialize-default-on-null":true}}}`, `{"a":null}`},
	} {
		for _, dialect := range []string{"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"} {
			b := schemas.Bundle{Dialect: dialect, Definitions: map[string]json.RawMessage{"S": json.RawMessage(`{"type":"string"}`), "N": json.RawMessage(c.schema)}}
			for _, lenient := range []bool{false, true} {
				plain, fast := schemas.Verdicts(t, b, "N", lenient)([]byte(c.body))
				if (plain == nil) != lenient || (fast == nil) != lenient {
					t.Errorf("%s\n with %s, lenient %v: %v, %v", c.schema, c.body, lenient, plain, fast)
				}
			}
		}
	}
	// What an annotation does not say is still refused.
	for _, c := range []struct{ schema, body string }{
		{`{"properties":{"a":{"type":"array","items":{"type":"string"},"x-deserialize-skip-invalid-items":true}}}`, `{"a":"x"}`},
		{`{"properties":{"a":{"type":"string","x-deserialize-default-on-null":true}}}`, `{"a":7}`},
		{`{"properties":{"a":{"type":"string","x-deserialize-default-on-error":true}},"required":["a"]}`, `{}`},
		{`{"properties":{"a":{"type":"string","x-deserialize-default-on-error":false}}}`, `{"a":7}`},
		{`{"properties":{"a":{"not":{"const":"x"}}}}`, `{"a":"x"}`},
	} {
		plain, fast := schemas.Verdicts(t, schemas.Bundle{Dialect: "https://json-schema.org/draft/2020-12/schema", Definitions: map[string]json.RawMessage{"N": json.RawMessage(c.schema)}}, "N", true)([]byte(c.body))
		if plain == nil || fast == nil {
			t.Errorf("%s accepts %s", c.schema, c.body)
		}
	}
}

// Opening what is inside a negation would close what is outside of it.
func TestT3_ANegationThatReadingLenientlyWouldWidenIsDropped(t *testing.T) {
	b := schemas.Bundle{Dialect: "https://json-schema.org/draft/2020-12/schema", Definitions: map[string]json.RawMessage{"S": json.RawMessage(`{"type":"string"}`)}}
	for _, not := range []string{
		`{"additionalProperties":false,"properties":{"a":{}}}`, `{"properties":{"a":{}},"unevaluatedProperties":false}`,
		`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"$ref":"#/definitions/O"}`, `{"not":{"required":["a"],"additionalProperties":false}}`,
		`{"properties":{"a":{"type":"string","x-deserialize-default-on-error":true}}}`, `{"if":{"required":["b"]},"then":{"required":["z"]}}`,
	} {
		b.Definitions["O"] = json.RawMessage(`{"additionalProperties":false,"properties":{"a":{}}}`)
		b.Definitions["N"] = json.RawMessage(`{"not":` + not + `}`)
		for _, body := range []string{`{"a":1,"b":2}`, `{"a":1}`, `{"c":1}`} {
			check := schemas.Verdicts(t, b, "N", true)
			if plain, fast := check([]byte(body)); plain != nil || fast != nil {
				t.Errorf("not %s refuses %s: %v %v", not, body, plain, fast)
			}
		}
	}
}
