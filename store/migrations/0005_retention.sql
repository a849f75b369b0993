-- +goose Up
PRAGMA user_version = 5;

-- The events up to journal_floor are not shown any more, and those up to journal_cut
-- are removed already.
ALTER TABLE conversation ADD COLUMN journal_cut INTEGER NOT NULL DEFAULT 0;

CREATE INDEX conversation_uncut ON conversation (id) WHERE journal_cut < journal_floor;
