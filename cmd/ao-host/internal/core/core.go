// Package core names what the command line needs of a host, so that its flows
// can be tested without a harness.
package core

import (
	"context"
	"io"
	"iter"

	"github.com/aoagents/ao-host/host"
)

// Core is the part of *host.Host that the commands use; see there for what
// each method does and which errors it returns.
type Core interface {
	Close(ctx context.Context) error

	Create(ctx context.Context, n host.NewConversation) (host.Conversation, error)
	Conversations(ctx context.Context) ([]host.Conversation, error)
	Conversation(ctx context.Context, id string) (host.Conversation, error)
	Relocate(ctx context.Context, conversation, dir string) (host.Conversation, error)
	Delete(ctx context.Context, conversation string, r host.DeleteRequest) error
	Prune(ctx context.Context, conversation string, r host.PruneRequest) (host.Pruned, error)
	Turns(ctx context.Context, conversation string) ([]host.Turn, error)
	Turn(ctx context.Context, conversation, turn string) (host.Turn, error)
	Controls(ctx context.Context, conversation string) (host.Controls, error)
	Probe(ctx context.Context, conversation string) (host.Controls, error)
	ConfigureNextTurn(ctx context.Context, conversation string, revision int64, patch host.SettingsPatch) (host.Controls, error)

	Send(ctx context.Context, conversation string, m host.Message) (host.Turn, error)
	Steer(ctx context.Context, conversation string, m host.Message) (host.Turn, error)
	Retry(ctx context.Context, conversation, turn string, r host.RetryRequest) (host.Turn, error)
	CancelQueued(ctx context.Context, conversation, turn string, of ...host.QueuedCancel) (host.Turn, error)
	EditQueued(ctx context.Context, conversation, turn string, e host.QueuedEdit) (host.Turn, error)
	MoveQueued(ctx context.Context, conversation, turn string, m host.QueuedMove) (host.Turn, error)
	ResumeQueue(ctx context.Context, conversation string) (host.Controls, error)
	Stop(ctx context.Context, conversation string, opts host.StopOptions) (host.Controls, error)

	Inputs(ctx context.Context, conversation string) ([]host.Interaction, error)
	ResolveInput(ctx context.Context, conversation, interaction string, a host.Answer) (host.Interaction, error)
	Plans(ctx context.Context, conversation string) ([]host.Proposal, error)
	ContinuePlan(ctx context.Context, conversation string, d host.PlanDecision) (host.Turn, error)
	RequestChanges(ctx context.Context, conversation string, d host.PlanDecision) (host.Turn, error)

	Events(ctx context.Context, conversation string, after uint64) iter.Seq2[host.Event, error]
	Export(ctx context.Context, conversation string, w io.Writer) error

	Bindings(ctx context.Context) ([]host.BindingInfo, error)
	AllowBinding(ctx context.Context, harness string) (host.BindingInfo, error)
}

// Opener opens a data folder.
type Opener func(ctx context.Context, cfg host.Config) (Core, error)
