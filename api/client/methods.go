package client

import (
	"context"
	"errors"
	"io"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// items unpacks a list.
func items[T any](l host.List[T], err error) ([]T, error) { return l.Items, err }

// Version names the versions of the host that answers.
func (c *Client) Version(ctx context.Context) (host.VersionInfo, error) {
	return call[host.VersionInfo](ctx, c, "getVersion", nil)
}

// Codes lists the error codes of the host that answers.
func (c *Client) Codes(ctx context.Context) ([]host.CodeInfo, error) {
	return items(call[host.List[host.CodeInfo]](ctx, c, "listCodes", nil))
}

// Diagnose looks at the host, its data folder and the harnesses.
func (c *Client) Diagnose(ctx context.Context, o host.DiagnoseOptions) (host.Diagnosis, error) {
	return call[host.Diagnosis](ctx, c, "diagnose", o)
}

// Create is host.Host's method of that name, as are the following.
func (c *Client) Create(ctx context.Context, n host.NewConversation) (host.Conversation, error) {
	return call[host.Conversation](ctx, c, "createConversation", n)
}

// Conversations lists all conversations, the newest first.
func (c *Client) Conversations(ctx context.Context) ([]host.Conversation, error) {
	return items(call[host.List[host.Conversation]](ctx, c, "listConversations", nil))
}

// Conversation returns one conversation.
func (c *Client) Conversation(ctx context.Context, id string) (host.Conversation, error) {
	return call[host.Conversation](ctx, c, "getConversation", nil, id)
}

// Controls returns what a client shows beside the composer.
func (c *Client) Controls(ctx context.Context, conversation string) (host.Controls, error) {
	return call[host.Controls](ctx, c, "getControls", nil, conversation)
}

// LogLevel returns the log level that was set for a conversation.
func (c *Client) LogLevel(ctx context.Context, conversation string) (host.LogLevel, error) {
	return call[host.LogLevel](ctx, c, "getLogLevel", nil, conversation)
}

// SetLogLevel raises or lowers the log of one conversation.
func (c *Client) SetLogLevel(ctx context.Context, conversation string, l host.LogLevel) (host.LogLevel, error) {
	return call[host.LogLevel](ctx, c, "setLogLevel", l, conversation)
}

// ConfigureNextTurn changes the remembered settings.
func (c *Client) ConfigureNextTurn(ctx context.Context, conversation string, expectedRevision int64, p host.SettingsPatch) (host.Controls, error) {
	return call[host.Controls](ctx, c, "changeSettings", host.SettingsChange{Revision: expectedRevision, Patch: p}, conversation)
}

// Relocate lets a conversation go on in another working directory.
func (c *Client) Relocate(ctx context.Context, conversation, dir string) (host.Conversation, error) {
	return call[host.Conversation](ctx, c, "relocateConversation", host.Relocation{Cwd: dir}, conversation)
}

// Delete removes a conversation with everything that is kept of it.
func (c *Client) Delete(ctx context.Context, conversation string, r host.DeleteRequest) error {
	_, err := call[host.Deleted](ctx, c, "deleteConversation", r, conversation)
	return err
}

// Prune shortens a journal from its beginning.
func (c *Client) Prune(ctx context.Context, conversation string, r host.PruneRequest) (host.Pruned, error) {
	return call[host.Pruned](ctx, c, "pruneJournal", r, conversation)
}

// Probe starts a session without a submission.
func (c *Client) Probe(ctx context.Context, conversation string) (host.Controls, error) {
	return call[host.Controls](ctx, c, "probe", nil, conversation)
}

// Turns lists the turns of a conversation in the order they were accepted, save
// those that MoveQueued put elsewhere.
func (c *Client) Turns(ctx context.Context, conversation string) ([]host.Turn, error) {
	return items(call[host.List[host.Turn]](ctx, c, "listTurns", nil, conversation))
}

// Turn returns one turn.
func (c *Client) Turn(ctx context.Context, conversation, turn string) (host.Turn, error) {
	return call[host.Turn](ctx, c, "getTurn", nil, conversation, turn)
}

// Send accepts a message with the settings of this moment.
func (c *Client) Send(ctx context.Context, conversation string, m host.Message) (host.Turn, error) {
	return call[host.Turn](ctx, c, "sendMessage", m, conversation)
}

// Steer sends a message into the running turn.
func (c *Client) Steer(ctx context.Context, conversation string, m host.Message) (host.Turn, error) {
	return call[host.Turn](ctx, c, "steer", m, conversation)
}

// Retry sends the content of an ended turn again.
func (c *Client) Retry(ctx context.Context, conversation, turn string, r host.RetryRequest) (host.Turn, error) {
	return call[host.Turn](ctx, c, "retryTurn", r, conversation, turn)
}

// CancelQueued takes a turn out of the queue, with a version only while it has it.
func (c *Client) CancelQueued(ctx context.Context, conversation, turn string, of ...host.QueuedCancel) (host.Turn, error) {
	var q host.QueuedCancel
	for _, o := range of {
		q = o
	}
	return call[host.Turn](ctx, c, "cancelQueued", q, conversation, turn)
}

// EditQueued gives a queued message other content.
func (c *Client) EditQueued(ctx context.Context, conversation, turn string, e host.QueuedEdit) (host.Turn, error) {
	return call[host.Turn](ctx, c, "editQueued", e, conversation, turn)
}

// MoveQueued moves a message within the queue.
func (c *Client) MoveQueued(ctx context.Context, conversation, turn string, m host.QueuedMove) (host.Turn, error) {
	return call[host.Turn](ctx, c, "moveQueued", m, conversation, turn)
}

// ResumeQueue lets a held queue run again.
func (c *Client) ResumeQueue(ctx context.Context, conversation string) (host.Controls, error) {
	return call[host.Controls](ctx, c, "resumeQueue", nil, conversation)
}

// Stop ends the running turn.
func (c *Client) Stop(ctx context.Context, conversation string, o host.StopOptions) (host.Controls, error) {
	return call[host.Controls](ctx, c, "stop", o, conversation)
}

// Inputs lists the cards that wait for an answer, oldest first.
func (c *Client) Inputs(ctx context.Context, conversation string) ([]host.Interaction, error) {
	return items(call[host.List[host.Interaction]](ctx, c, "listInputs", nil, conversation))
}

// ResolveInput answers a card.
func (c *Client) ResolveInput(ctx context.Context, conversation, interaction string, a host.Answer) (host.Interaction, error) {
	return call[host.Interaction](ctx, c, "answerInput", a, conversation, interaction)
}

// Plans lists the plans of a conversation, oldest first.
func (c *Client) Plans(ctx context.Context, conversation string) ([]host.Proposal, error) {
	return items(call[host.List[host.Proposal]](ctx, c, "listPlans", nil, conversation))
}

// ContinuePlan implements a plan.
func (c *Client) ContinuePlan(ctx context.Context, conversation string, d host.PlanDecision) (host.Turn, error) {
	return call[host.Turn](ctx, c, "implementPlan", host.ImplementRequest{Revision: d.Revision, ClientID: d.ClientID}, conversation, d.Proposal)
}

// RequestChanges sends feedback on a plan.
func (c *Client) RequestChanges(ctx context.Context, conversation string, d host.PlanDecision) (host.Turn, error) {
	return call[host.Turn](ctx, c, "requestChanges", host.ChangesRequest{Revision: d.Revision, ClientID: d.ClientID, Feedback: d.Feedback}, conversation, d.Proposal)
}

// Bindings lists the installed bindings.
func (c *Client) Bindings(ctx context.Context) ([]host.BindingInfo, error) {
	list, err := call[host.List[host.InstalledBinding]](ctx, c, "listBindings", nil)
	if err != nil {
		return nil, err
	}
	out := make([]host.BindingInfo, 0, len(list.Items))
	for _, b := range list.Items {
		out = append(out, info(b))
	}
	return out, nil
}

// AllowBinding is the user's yes to a module in the bindings folder.
func (c *Client) AllowBinding(ctx context.Context, name string) (host.BindingInfo, error) {
	b, err := call[host.InstalledBinding](ctx, c, "allowBinding", nil, name)
	return info(b), err
}

func info(b host.InstalledBinding) host.BindingInfo {
	if b.Problem != nil {
		b.Err = b.Problem.Err()
	}
	return b.BindingInfo
}

// Manifest returns the manifest of the binding a harness would use.
func (c *Client) Manifest(ctx context.Context, harness string) (abi.Manifest, error) {
	return call[abi.Manifest](ctx, c, "getManifest", nil, harness)
}

// Export writes the journal of a conversation as JSON lines. After an error what
// was written is only a part of it; host_unreachable says that the connection
// broke, conversation_deleted why it did.
func (c *Client) Export(ctx context.Context, conversation string, w io.Writer) error {
	rt := c.routes["exportConversation"]
	res, err := c.send(ctx, &rt, "", nil, "", []string{conversation})
	var broken *brokenError
	if errors.As(err, &broken) {
		return unreachable(err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	from := &source{r: res.Body}
	if _, err := io.Copy(w, from); err != nil {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case from.err != nil:
			return c.exportBroke(ctx, conversation, from.err)
		}
		return err
	}
	return nil
}

// exportBroke is why an export broke off. Its status was sent long before, and an orderly
// end would look like all of the journal: whether a deletion ended it is asked for.
func (c *Client) exportBroke(ctx context.Context, conversation string, err error) error {
	_, now := c.Conversation(ctx, conversation)
	if code := host.CodeOf(now); code == host.CodeUnknownConversation || code == host.CodeConversationDeleted {
		return &host.Error{Code: host.CodeConversationDeleted, Err: err}
	}
	return unreachable(err)
}

// source tells the errors of reading from those of writing.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
