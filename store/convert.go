package store

import (
	"math"
	"time"

	"github.com/aoagents/ao-host/store/internal/db"
)

// Between the rows of the contract and the generated ones: numbers of journals,
// inputs and frames are unsigned to callers and signed to SQLite, and a body
// without bytes is nil to callers and an empty blob to SQLite.

func stamp(t time.Time) db.Stamp { return db.Stamp(t) }

func moment(s db.Stamp) time.Time { return time.Time(s) }

func signed(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func body(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

func each[A, B any](rows []A, f func(A) B) []B {
	out := make([]B, len(rows))
	for i, r := range rows {
		out[i] = f(r)
	}
	return out
}

func conversationRow(r db.Conversation) Conversation {
	return Conversation{
		ID: r.ID, Harness: r.Harness, Cwd: r.Cwd, RealCwd: r.RealCwd, Title: r.Title,
		CreatedAt: moment(r.CreatedAt), UpdatedAt: moment(r.UpdatedAt),
		Settings: body(r.Settings), SettingsRev: r.SettingsRev,
		NativeSession: r.NativeSession, NativeUsed: r.NativeUsed, Generation: r.Generation,
		Held: r.Held, HoldReason: r.HoldReason,
		LastSeq: uint64(r.LastSeq), JournalFloor: uint64(r.JournalFloor), Own: body(r.Own),
	}
}

func turnRow(r db.Turn) Turn {
	return Turn{
		ID: r.ID, ConversationID: r.ConversationID, Position: r.Position, State: TurnState(r.State),
		ClientID: r.ClientID, Origin: r.Origin,
		Content: body(r.Content), Settings: body(r.Settings), SettingsRev: r.SettingsRev,
		InteractionID: r.InteractionID, ProposalID: r.ProposalID, RetryOf: r.RetryOf,
		Reply: body(r.Reply), Generation: r.Generation, NativeTurn: r.NativeTurn, Evidence: r.Evidence,
		StopReason: r.StopReason, ErrorCode: r.ErrorCode, ErrorMessage: r.ErrorMessage,
		AcceptedAt: moment(r.AcceptedAt), DispatchedAt: moment(r.DispatchedAt),
		StartedAt: moment(r.StartedAt), EndedAt: moment(r.EndedAt), Version: r.Version,
	}
}

func generationRow(r db.Generation) Generation {
	return Generation{
		ConversationID: r.ConversationID, Number: r.Number, PID: r.Pid, PIDStart: r.PidStart,
		BindingDigest: r.BindingDigest, BindingVersion: r.BindingVersion,
		ProviderVersion: r.ProviderVersion, NativeSession: r.NativeSession,
		StartedAt: moment(r.StartedAt), ExitedAt: moment(r.ExitedAt), Exit: body(r.Exit),
	}
}

func interactionRow(r db.Interaction) Interaction {
	return Interaction{
		ID: r.ID, ConversationID: r.ConversationID, Key: r.Key, Generation: r.Generation,
		TurnID: r.TurnID, Type: r.Type, Route: r.Route, Blocking: r.Blocking,
		State: InteractionState(r.State), Disposition: r.Disposition, Evidence: r.Evidence,
		Body: body(r.Body), Reply: body(r.Reply), AnswerTurnID: r.AnswerTurnID, Automatic: r.Automatic,
		OpenedAt: moment(r.OpenedAt), ClosedAt: moment(r.ClosedAt),
	}
}

func proposalRow(r db.Proposal) Proposal {
	return Proposal{
		ID: r.ID, ConversationID: r.ConversationID, Key: r.Key, Revision: r.Revision,
		TurnID: r.TurnID, InteractionID: r.InteractionID, State: ProposalState(r.State),
		Body: body(r.Body), ContinuationID: r.ContinuationID,
		OpenedAt: moment(r.OpenedAt), ClosedAt: moment(r.ClosedAt),
	}
}

func inputRow(r db.Input) Input {
	return Input{
		ConversationID: r.ConversationID, Generation: r.Generation, Seq: uint64(r.Seq),
		Now: r.Now, Kind: r.Kind, Body: body(r.Body),
	}
}

func outboxRow(r db.Outbox) Outbox {
	return Outbox{
		ConversationID: r.ConversationID, Generation: r.Generation, ID: uint64(r.ID),
		TurnID: r.TurnID, InteractionID: r.InteractionID, Frame: body(r.Frame),
		WrittenAt: moment(r.WrittenAt),
	}
}

func timerRow(r db.Timer) Timer {
	return Timer{ConversationID: r.ConversationID, Generation: r.Generation, Name: r.Name, Due: moment(r.Due)}
}

func savedStateRow(r db.SavedState) SavedState {
	return SavedState{
		ConversationID: r.ConversationID, Generation: r.Generation, InputSeq: uint64(r.InputSeq),
		StateVersion: r.StateVersion, State: body(r.State),
	}
}

func eventRow(r db.Event) Event {
	return Event{
		ConversationID: r.ConversationID, Seq: uint64(r.Seq), At: moment(r.At),
		Type: r.Type, TurnID: r.TurnID, Body: body(r.Body),
	}
}

func blobRow(r db.Attachment) Blob {
	return Blob{Digest: r.Digest, Media: r.Media, Bytes: body(r.Bytes)}
}

func grantRow(r db.BindingGrant) Grant {
	return Grant{Harness: r.Harness, Digest: r.Digest, GrantedAt: moment(r.GrantedAt)}
}

func idempotentRow(r db.Idempotency) IdempotentResult {
	return IdempotentResult{Key: r.Key, ConversationID: r.ConversationID, Result: body(r.Result), At: moment(r.At)}
}
