-- +goose Up
PRAGMA user_version = 4;

-- Set on a conversation that nobody sees any more and whose rows are being removed,
-- which takes more than one transaction; its own row goes last.
ALTER TABLE conversation ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;

CREATE INDEX conversation_deleted ON conversation (id) WHERE deleted <> 0;
CREATE INDEX compaction_conversation ON compaction (conversation_id);
CREATE INDEX idempotency_conversation ON idempotency (conversation_id);

-- The conversations that an attachment was sent in. It goes with the last of them.
CREATE TABLE attachment_use (
    conversation_id TEXT NOT NULL REFERENCES conversation (id),
    digest          TEXT NOT NULL REFERENCES attachment (digest),
    PRIMARY KEY (conversation_id, digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX attachment_use_digest ON attachment_use (digest);

INSERT INTO attachment_use (conversation_id, digest)
SELECT DISTINCT turn.conversation_id, attachment.digest
FROM turn, json_each(CASE WHEN json_valid(CAST(turn.content AS TEXT)) THEN CAST(turn.content AS TEXT) ELSE '[]' END) AS block, attachment
WHERE block.type = 'object' AND attachment.digest = json_extract(block.value, '$.digest');

-- Edited out of a message that waited: nothing can name them any more.
DELETE FROM attachment WHERE digest NOT IN (SELECT digest FROM attachment_use);
