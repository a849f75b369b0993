-- name: Conversation :one
SELECT * FROM conversation WHERE id = ? AND deleted = 0;

-- name: Conversations :many
SELECT * FROM conversation WHERE deleted = 0 ORDER BY created_at DESC, id DESC;

-- name: InsertConversation :exec
INSERT INTO conversation (
    id, harness, cwd, real_cwd, title, created_at, updated_at, settings, settings_rev,
    native_session, native_used, generation, held, hold_reason, last_seq, journal_floor, own
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: UpdateConversation :execrows
UPDATE conversation SET
    harness = ?, cwd = ?, real_cwd = ?, title = ?, created_at = ?, updated_at = ?, settings = ?, settings_rev = ?,
    native_session = ?, native_used = ?, generation = ?, held = ?, hold_reason = ?, journal_floor = ?, own = ?
WHERE id = ? AND deleted = 0;

-- name: UpdateSettings :execrows
UPDATE conversation SET settings = ?, settings_rev = settings_rev + 1, updated_at = ?
WHERE id = ? AND settings_rev = ? AND deleted = 0;
