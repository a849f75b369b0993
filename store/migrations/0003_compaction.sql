-- +goose Up
PRAGMA user_version = 3;

-- Events that are replaced already and still have to be removed: those of a long
-- turn are too many for one transaction, which would hold them all in memory.
CREATE TABLE compaction (
    conversation_id TEXT    NOT NULL REFERENCES conversation (id),
    turn_id         TEXT    NOT NULL,
    -- A JSON array of event types.
    types           TEXT    NOT NULL,
    after_seq       INTEGER NOT NULL,
    before_seq      INTEGER NOT NULL,
    ordinal         INTEGER PRIMARY KEY
) STRICT;
