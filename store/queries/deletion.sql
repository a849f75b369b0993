-- name: MarkDeleted :execrows
UPDATE conversation SET deleted = 1, native_session = '' WHERE id = ? AND deleted = 0;

-- name: NextDeleted :one
SELECT id FROM conversation WHERE deleted <> 0 ORDER BY id LIMIT 1;

-- name: DropConversation :exec
DELETE FROM conversation WHERE id = ? AND deleted <> 0;

-- name: FirstEvents :many
SELECT seq, CAST(length(body) AS INTEGER) AS size FROM event
WHERE conversation_id = ? AND seq <= ? ORDER BY seq LIMIT 4096;

-- name: DropEvents :exec
DELETE FROM event WHERE conversation_id = ? AND seq <= ?;

-- name: FirstOutbox :many
SELECT generation, id, CAST(length(frame) AS INTEGER) AS size FROM outbox
WHERE conversation_id = ? ORDER BY generation, id LIMIT 4096;

-- name: DropFirstOutbox :exec
DELETE FROM outbox WHERE conversation_id = sqlc.arg(conversation_id)
  AND (generation, id) <= (sqlc.arg(generation), sqlc.arg(id));

-- name: FirstStates :many
SELECT generation, CAST(length(state) AS INTEGER) AS size FROM saved_state
WHERE conversation_id = ? ORDER BY generation LIMIT 4096;

-- name: DropFirstStates :exec
DELETE FROM saved_state WHERE conversation_id = ? AND generation <= ?;

-- name: FirstInteractions :many
SELECT ordinal, CAST(length(body) + length(reply) AS INTEGER) AS size FROM interaction
WHERE conversation_id = ? ORDER BY ordinal LIMIT 4096;

-- name: DropInteractions :exec
DELETE FROM interaction WHERE conversation_id = ? AND ordinal <= ?;

-- name: FirstProposals :many
SELECT ordinal, CAST(length(body) AS INTEGER) AS size FROM proposal
WHERE conversation_id = ? ORDER BY ordinal LIMIT 4096;

-- name: DropProposals :exec
DELETE FROM proposal WHERE conversation_id = ? AND ordinal <= ?;

-- name: FirstTurns :many
SELECT position, CAST(length(content) + length(reply) AS INTEGER) AS size FROM turn
WHERE conversation_id = ? ORDER BY position LIMIT 4096;

-- name: DropTurns :exec
DELETE FROM turn WHERE conversation_id = ? AND position <= ?;

-- name: FirstGenerations :many
SELECT number, CAST(length(exit) AS INTEGER) AS size FROM generation
WHERE conversation_id = ? ORDER BY number LIMIT 4096;

-- name: DropGenerations :exec
DELETE FROM generation WHERE conversation_id = ? AND number <= ?;

-- name: DropAllTimers :exec
DELETE FROM timer WHERE conversation_id = ?;

-- name: DropCompactions :exec
DELETE FROM compaction WHERE conversation_id = ?;

-- name: DropIdempotencyOf :exec
DELETE FROM idempotency WHERE conversation_id = ?;

-- name: FirstAttachments :many
SELECT u.digest, CAST(length(a.bytes) AS INTEGER) AS size
FROM attachment_use AS u JOIN attachment AS a ON a.digest = u.digest
WHERE u.conversation_id = ? ORDER BY u.digest LIMIT 4096;

-- name: PutAttachmentUse :exec
INSERT INTO attachment_use (conversation_id, digest) VALUES (?, ?)
ON CONFLICT (conversation_id, digest) DO NOTHING;

-- name: DropAttachmentUse :exec
DELETE FROM attachment_use WHERE conversation_id = ? AND digest = ?;

-- name: DropUnusedAttachment :exec
DELETE FROM attachment WHERE attachment.digest = sqlc.arg(digest)
  AND NOT EXISTS (SELECT 1 FROM attachment_use AS u WHERE u.digest = sqlc.arg(digest));
