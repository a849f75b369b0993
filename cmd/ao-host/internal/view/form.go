package view

import (
	"encoding/json"
	"errors"

	"github.com/aoagents/ao-host/abi"
)

// Form gives the answers to a form, with an entry for each. What is filled in is
// the content itself: a schema is not taken for a questionnaire (rule 15).
func Form() ([]abi.Action, []Entry) {
	return []abi.Action{abi.ActionAccept, abi.ActionDecline, abi.ActionCancel},
		[]Entry{{"fill it in", "as one line of JSON"}, {"decline", "the agent goes on without it"}, {"cancel", "the agent gives up what it asked for"}}
}

// CheckForm refuses a text that is not the content of a form. Whether it fits
// the form's schema is for the host to say.
func CheckForm(text string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return errors.New("this is not a JSON object; type one like {\"name\": \"value\"}")
	}
	return nil
}
