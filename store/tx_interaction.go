package store

import (
	"context"

	"github.com/aoagents/ao-host/store/internal/db"
)

// InsertInteraction adds an interaction. Errors: conflict, not_found when there
// is no such conversation.
func (tx *Tx) InsertInteraction(_ context.Context, i Interaction) error {
	if err := fits("interaction", i.Body, i.Reply); err != nil {
		return err
	}
	return tx.wrote(tx.q.InsertInteraction(context.Background(), db.InsertInteractionParams{
		ID: i.ID, ConversationID: i.ConversationID, Key: i.Key, Generation: i.Generation,
		TurnID: i.TurnID, Type: i.Type, Route: i.Route, Blocking: i.Blocking,
		State: string(i.State), Disposition: i.Disposition, Evidence: i.Evidence,
		Body: blob(i.Body), Reply: blob(i.Reply), AnswerTurnID: i.AnswerTurnID, Automatic: i.Automatic,
		OpenedAt: stamp(i.OpenedAt), ClosedAt: stamp(i.ClosedAt),
	}), "interaction")
}

// UpdateInteraction writes every column but the conversation. Error: not_found.
func (tx *Tx) UpdateInteraction(_ context.Context, i Interaction) error {
	if err := fits("interaction", i.Body, i.Reply); err != nil {
		return err
	}
	n, err := tx.q.UpdateInteraction(context.Background(), db.UpdateInteractionParams{
		ID: i.ID, Key: i.Key, Generation: i.Generation,
		TurnID: i.TurnID, Type: i.Type, Route: i.Route, Blocking: i.Blocking,
		State: string(i.State), Disposition: i.Disposition, Evidence: i.Evidence,
		Body: blob(i.Body), Reply: blob(i.Reply), AnswerTurnID: i.AnswerTurnID, Automatic: i.Automatic,
		OpenedAt: stamp(i.OpenedAt), ClosedAt: stamp(i.ClosedAt),
	})
	return tx.changed(n, err, "interaction", i.ID)
}

// ClaimInteraction takes an open interaction for an answer and records the
// reply. It reports whether the interaction was still open: of several clients
// one wins (rule 13). Error: not_found.
func (tx *Tx) ClaimInteraction(ctx context.Context, id string, reply []byte) (bool, error) {
	if err := fits("reply", reply); err != nil {
		return false, err
	}
	n, err := tx.q.ClaimInteraction(context.Background(), blob(reply), id)
	if err = tx.wrote(err, "interaction"); err != nil || n > 0 {
		return n > 0, err
	}
	_, err = tx.Interaction(ctx, id)
	return false, err
}

// InsertProposal adds a proposal. Errors: conflict, not_found when there is no
// such conversation.
func (tx *Tx) InsertProposal(_ context.Context, p Proposal) error {
	if err := fits("proposal", p.Body); err != nil {
		return err
	}
	return tx.wrote(tx.q.InsertProposal(context.Background(), db.InsertProposalParams{
		ID: p.ID, ConversationID: p.ConversationID, Key: p.Key, Revision: p.Revision,
		TurnID: p.TurnID, InteractionID: p.InteractionID, State: string(p.State),
		Body: blob(p.Body), ContinuationID: p.ContinuationID,
		OpenedAt: stamp(p.OpenedAt), ClosedAt: stamp(p.ClosedAt),
	}), "proposal")
}

// UpdateProposal writes every column but the conversation. Error: not_found.
func (tx *Tx) UpdateProposal(_ context.Context, p Proposal) error {
	if err := fits("proposal", p.Body); err != nil {
		return err
	}
	n, err := tx.q.UpdateProposal(context.Background(), db.UpdateProposalParams{
		ID: p.ID, Key: p.Key, Revision: p.Revision,
		TurnID: p.TurnID, InteractionID: p.InteractionID, State: string(p.State),
		Body: blob(p.Body), ContinuationID: p.ContinuationID,
		OpenedAt: stamp(p.OpenedAt), ClosedAt: stamp(p.ClosedAt),
	})
	return tx.changed(n, err, "proposal", p.ID)
}

// ClaimProposal decides an open proposal: it takes the new state, the one turn
// made from it and the time. It reports whether the proposal was still open with
// the expected revision (rule 17). Error: not_found.
func (tx *Tx) ClaimProposal(ctx context.Context, id string, expected int64, state ProposalState, continuation string) (bool, error) {
	n, err := tx.q.ClaimProposal(context.Background(), db.ClaimProposalParams{
		ID: id, Revision: expected, State: string(state), ContinuationID: continuation, ClosedAt: stamp(tx.now()),
	})
	if err = tx.wrote(err, "proposal"); err != nil || n > 0 {
		return n > 0, err
	}
	_, err = tx.Proposal(ctx, id)
	return false, err
}
