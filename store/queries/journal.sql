-- name: Events :many
SELECT * FROM event WHERE conversation_id = ? AND seq > ? ORDER BY seq LIMIT ?;

-- name: JournalFrom :one
SELECT journal_from FROM turn WHERE id = ?;

-- name: CompactDeltas :execrows
DELETE FROM event
WHERE conversation_id = sqlc.arg(conversation_id)
  AND seq > sqlc.arg(after_seq) AND seq < sqlc.arg(before_seq)
  AND turn_id = sqlc.arg(turn_id)
  AND type IN (sqlc.slice('types'));
