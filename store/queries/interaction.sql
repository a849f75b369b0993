-- name: Interaction :one
SELECT * FROM interaction WHERE id = ?;

-- name: InteractionByKey :one
SELECT * FROM interaction
WHERE conversation_id = ? AND key = ? AND (route = 'follow-up' OR generation = ?)
ORDER BY ordinal DESC LIMIT 1;

-- name: Interactions :many
SELECT * FROM interaction WHERE conversation_id = ? ORDER BY ordinal;

-- name: UnsettledInteractions :many
SELECT * FROM interaction WHERE conversation_id = ? AND state <> 'closed' ORDER BY ordinal;

-- name: InsertInteraction :exec
INSERT INTO interaction (
    id, conversation_id, key, generation, turn_id, type, route, blocking, state, disposition,
    evidence, body, reply, answer_turn_id, automatic, opened_at, closed_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: UpdateInteraction :execrows
UPDATE interaction SET
    key = ?, generation = ?, turn_id = ?, type = ?, route = ?, blocking = ?, state = ?, disposition = ?,
    evidence = ?, body = ?, reply = ?, answer_turn_id = ?, automatic = ?, opened_at = ?, closed_at = ?
WHERE id = ?;

-- name: ClaimInteraction :execrows
UPDATE interaction SET state = 'claimed', reply = ? WHERE id = ? AND state = 'open';

-- name: Proposal :one
SELECT * FROM proposal WHERE id = ?;

-- name: ProposalByKey :one
SELECT * FROM proposal WHERE conversation_id = ? AND key = ? ORDER BY ordinal DESC LIMIT 1;

-- name: Proposals :many
SELECT * FROM proposal WHERE conversation_id = ? ORDER BY ordinal;

-- name: InsertProposal :exec
INSERT INTO proposal (
    id, conversation_id, key, revision, turn_id, interaction_id, state, body, continuation_id, opened_at, closed_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: UpdateProposal :execrows
UPDATE proposal SET
    key = ?, revision = ?, turn_id = ?, interaction_id = ?, state = ?, body = ?, continuation_id = ?,
    opened_at = ?, closed_at = ?
WHERE id = ?;

-- name: ClaimProposal :execrows
UPDATE proposal SET state = ?, continuation_id = ?, closed_at = ?
WHERE id = ? AND revision = ? AND state = 'open';
