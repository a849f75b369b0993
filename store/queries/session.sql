-- name: Generation :one
SELECT * FROM generation WHERE conversation_id = ? AND number = ?;

-- name: OpenGenerations :many
SELECT * FROM generation WHERE exited_at IS NULL ORDER BY conversation_id, number;

-- name: InsertGeneration :exec
INSERT INTO generation (
    conversation_id, number, pid, pid_start, binding_digest, binding_version, provider_version,
    native_session, started_at, exited_at, exit
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: UpdateGeneration :execrows
UPDATE generation SET
    pid = ?, pid_start = ?, binding_digest = ?, binding_version = ?, provider_version = ?,
    native_session = ?, started_at = ?, exited_at = ?, exit = ?
WHERE conversation_id = ? AND number = ?;

-- name: Inputs :many
SELECT * FROM input WHERE conversation_id = ? AND generation = ? AND seq > ? ORDER BY seq;

-- name: DropInputs :execrows
DELETE FROM input WHERE conversation_id = ? AND generation = ? AND seq <= ?;

-- name: Outbox :many
SELECT * FROM outbox WHERE conversation_id = ? AND generation = ? ORDER BY id;

-- name: UnwrittenOutbox :many
SELECT * FROM outbox WHERE conversation_id = ? AND generation = ? AND written_at IS NULL ORDER BY id;

-- name: MarkOutboxWritten :execrows
UPDATE outbox SET written_at = ? WHERE conversation_id = ? AND generation = ? AND id = ?;

-- name: DropOutbox :execrows
DELETE FROM outbox WHERE conversation_id = ? AND generation = ? AND id <= ?;

-- name: Timers :many
SELECT * FROM timer WHERE conversation_id = ? AND generation = ? ORDER BY due, name;

-- name: SetTimer :exec
INSERT INTO timer (conversation_id, generation, name, due) VALUES (?, ?, ?, ?)
ON CONFLICT (conversation_id, generation, name) DO UPDATE SET due = excluded.due;

-- name: ClearTimer :execrows
DELETE FROM timer WHERE conversation_id = ? AND generation = ? AND name = ?;

-- name: SavedState :one
SELECT * FROM saved_state WHERE conversation_id = ? AND generation = ?;

-- name: SaveState :exec
INSERT INTO saved_state (conversation_id, generation, input_seq, state_version, state) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (conversation_id, generation) DO UPDATE SET
    input_seq = excluded.input_seq, state_version = excluded.state_version, state = excluded.state;

-- name: OldInputs :many
SELECT generation, seq, CAST(length(body) AS INTEGER) AS size FROM input
WHERE conversation_id = ? AND generation < ? ORDER BY generation, seq LIMIT 4096;

-- name: DropOldInputs :execrows
DELETE FROM input WHERE conversation_id = sqlc.arg(conversation_id)
  AND (generation, seq) <= (sqlc.arg(generation), sqlc.arg(seq));

-- name: DropOldOutbox :execrows
DELETE FROM outbox WHERE conversation_id = ? AND generation < ?;

-- name: DropOldTimers :execrows
DELETE FROM timer WHERE conversation_id = ? AND generation < ?;

-- name: DropOldStates :execrows
DELETE FROM saved_state WHERE conversation_id = ? AND generation < ?;
