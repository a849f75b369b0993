-- +goose Up
PRAGMA user_version = 6;

-- What the agent had by itself in the native session before anything was set there,
-- and which of it was set since, as JSON. No bytes where that is not known.
ALTER TABLE conversation ADD COLUMN own BLOB NOT NULL DEFAULT X'';
