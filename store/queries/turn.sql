-- name: Turn :one
SELECT * FROM turn WHERE id = ?;

-- name: Turns :many
SELECT * FROM turn WHERE conversation_id = ? ORDER BY position;

-- name: LiveTurns :many
SELECT * FROM turn
WHERE conversation_id = ? AND state IN ('queued', 'dispatched', 'running')
ORDER BY position;

-- name: TurnByClientID :one
SELECT * FROM turn WHERE conversation_id = ? AND client_id = ? AND client_id <> '';

-- name: InsertTurn :exec
INSERT INTO turn (
    id, conversation_id, position, state, client_id, origin, content, settings, settings_rev,
    interaction_id, proposal_id, retry_of, reply, generation, native_turn, evidence,
    stop_reason, error_code, error_message,
    accepted_at, dispatched_at, started_at, ended_at, journal_from, version
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: UpdateTurn :execrows
UPDATE turn SET
    state = ?, client_id = ?, origin = ?, content = ?, settings = ?, settings_rev = ?,
    interaction_id = ?, proposal_id = ?, retry_of = ?, reply = ?, generation = ?, native_turn = ?, evidence = ?,
    stop_reason = ?, error_code = ?, error_message = ?,
    accepted_at = ?, dispatched_at = ?, started_at = ?, ended_at = ?, version = ?
WHERE id = ?;

-- name: MoveTurn :execrows
UPDATE turn SET position = ? WHERE id = ?;

-- name: LastPosition :one
SELECT CAST(COALESCE(MAX(position), 0) AS INTEGER) FROM turn WHERE conversation_id = ?;

-- name: FirstQueuedPosition :one
SELECT position FROM turn
WHERE conversation_id = ? AND state IN ('queued', 'dispatched', 'running') AND state = 'queued'
ORDER BY position LIMIT 1;

-- name: ShiftTurns :exec
UPDATE turn SET position = position + 1 WHERE conversation_id = ? AND position >= ?;
