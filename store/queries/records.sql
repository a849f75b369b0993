-- name: Attachment :one
SELECT * FROM attachment WHERE digest = ?;

-- name: PutAttachment :exec
INSERT INTO attachment (digest, media, bytes) VALUES (?, ?, ?)
ON CONFLICT (digest) DO NOTHING;

-- name: Grants :many
SELECT * FROM binding_grant ORDER BY harness;

-- name: Grant :one
SELECT * FROM binding_grant WHERE harness = ?;

-- name: PutGrant :exec
INSERT INTO binding_grant (harness, digest, granted_at) VALUES (?, ?, ?)
ON CONFLICT (harness) DO UPDATE SET digest = excluded.digest, granted_at = excluded.granted_at;

-- name: DropGrant :execrows
DELETE FROM binding_grant WHERE harness = ?;

-- name: Idempotency :one
SELECT * FROM idempotency WHERE key = ?;

-- name: PutIdempotency :exec
INSERT INTO idempotency (key, conversation_id, result, at) VALUES (?, ?, ?, ?);

-- name: DropIdempotency :execrows
DELETE FROM idempotency WHERE at < ?;
