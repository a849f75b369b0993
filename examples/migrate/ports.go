// Package migrate is the chat of an existing product after its move onto the
// library: the ports that its controller has always used, and the adapters behind
// them. docs/embedding.md goes through it step by step.
package migrate

import "context"

// Thread is a chat beside a worktree, in the product's own words.
type Thread struct {
	ID     string
	Folder string
	Agent  string
	Title  string
}

// Pending is something that waits for the person: a question, a request or a plan.
type Pending struct {
	ID   string
	Kind string
	Text string
	// Choices are what there is to choose from, by index.
	Choices []string
	// Revision is that of a plan.
	Revision int64
}

// Verdict is what the person decided.
type Verdict struct {
	// Choice is an index into Pending.Choices.
	Choice int
	// Implement accepts a plan; else Feedback says what should change in it.
	Implement bool
	Feedback  string
}

// Chat is the port through which the product's controller drives agents.
type Chat interface {
	Start(ctx context.Context, t Thread) error
	SetPlanning(ctx context.Context, thread string, planning bool) error
	Post(ctx context.Context, thread, messageID, text string) error
	Pending(ctx context.Context, thread string) ([]Pending, error)
	Decide(ctx context.Context, thread string, p Pending, v Verdict) error
	Stop(ctx context.Context, thread string) error
}

// Threads is what stays of the product's repository.
type Threads interface {
	Add(ctx context.Context, t Thread) error
	// Seen is the number of the last event that the windows were shown.
	Seen(ctx context.Context, thread string) (uint64, error)
	SetSeen(ctx context.Context, thread string, seq uint64) error
}

// Windows is the port to the product's windows: a web socket, a native bridge.
type Windows interface {
	Push(thread string, kind string, body []byte)
}
