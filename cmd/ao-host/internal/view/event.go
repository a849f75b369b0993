package view

import (
	"encoding/json"
	"fmt"

	"github.com/aoagents/ao-host/host"
)

// Read gives the body of an event to do, or says which event cannot be read.
func Read[T any](ev host.Event, do func(T)) error {
	var v T
	if err := json.Unmarshal(ev.Body, &v); err != nil {
		return fmt.Errorf("event %d of type %s cannot be read: %w", ev.Seq, ev.Type, err)
	}
	do(v)
	return nil
}

// ByItself says that the agent began or ended work that nobody asked for.
func ByItself(a host.AgentTurn) string {
	if a.Running {
		return "The agent began to work by itself."
	}
	return "The agent ended what it began by itself."
}
