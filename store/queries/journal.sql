-- name: Events :many
SELECT * FROM event WHERE conversation_id = ? AND seq > ? ORDER BY seq LIMIT ?;

-- name: EventSizes :many
SELECT CAST(length(body) AS INTEGER) FROM event WHERE conversation_id = ? AND seq > ? ORDER BY seq LIMIT ?;

-- name: JournalFrom :one
SELECT journal_from FROM turn WHERE id = ?;

-- name: CompactibleEvents :many
SELECT seq, CAST(length(body) AS INTEGER) AS size FROM event
WHERE conversation_id = sqlc.arg(conversation_id)
  AND seq > sqlc.arg(after_seq) AND seq < sqlc.arg(before_seq)
  AND turn_id = sqlc.arg(turn_id)
  AND type IN (sqlc.slice('types'))
ORDER BY seq LIMIT 4096;

-- name: NextCompaction :one
SELECT * FROM compaction ORDER BY ordinal LIMIT 1;

-- name: InsertCompaction :exec
INSERT INTO compaction (conversation_id, turn_id, types, after_seq, before_seq) VALUES (?, ?, ?, ?, ?);

-- name: AdvanceCompaction :exec
UPDATE compaction SET after_seq = ? WHERE ordinal = ?;

-- name: DropCompaction :exec
DELETE FROM compaction WHERE ordinal = ?;

-- name: CompactDeltas :execrows
DELETE FROM event
WHERE conversation_id = sqlc.arg(conversation_id)
  AND seq > sqlc.arg(after_seq) AND seq < sqlc.arg(before_seq)
  AND turn_id = sqlc.arg(turn_id)
  AND type IN (sqlc.slice('types'));

-- name: EventsOfType :many
SELECT * FROM event WHERE conversation_id = ? AND seq > ? AND type = ? ORDER BY seq LIMIT ?;

-- name: RaiseFloor :execrows
UPDATE conversation SET journal_floor = sqlc.arg(floor)
WHERE id = sqlc.arg(id) AND deleted = 0 AND journal_floor < sqlc.arg(floor);

-- name: NextUncut :one
SELECT id, journal_floor FROM conversation WHERE journal_cut < journal_floor ORDER BY id LIMIT 1;

-- name: JournalIsCut :exec
UPDATE conversation SET journal_cut = ? WHERE id = ?;
