-- +goose Up
PRAGMA user_version = 2;

-- Counts the changes of a queued turn's content and place, so that of two people
-- who change it at once the second is told.
ALTER TABLE turn ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
