-- +goose Up

-- The header numbers let a program that does not know this schema yet refuse the
-- file without opening it as a database (see version.go). Every migration sets
-- user_version to its own number, in its own transaction.
PRAGMA application_id = 1634691187;
PRAGMA user_version = 1;

-- Times are nanoseconds since 1970 in UTC, NULL where the moment has not come.
-- Texts are empty and bodies have no bytes where there is nothing to say.

CREATE TABLE conversation (
    id             TEXT    NOT NULL PRIMARY KEY,
    harness        TEXT    NOT NULL,
    cwd            TEXT    NOT NULL,
    real_cwd       TEXT    NOT NULL,
    title          TEXT    NOT NULL,
    created_at     INTEGER,
    updated_at     INTEGER,
    settings       BLOB    NOT NULL,
    settings_rev   INTEGER NOT NULL,
    native_session TEXT    NOT NULL,
    native_used    INTEGER NOT NULL,
    generation     INTEGER NOT NULL,
    held           INTEGER NOT NULL,
    hold_reason    TEXT    NOT NULL,
    last_seq       INTEGER NOT NULL,
    journal_floor  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Rule 21: two conversations never hold one native session.
CREATE UNIQUE INDEX conversation_native_session
    ON conversation (harness, native_session) WHERE native_session <> '';
CREATE INDEX conversation_created ON conversation (created_at);

CREATE TABLE turn (
    id              TEXT    NOT NULL PRIMARY KEY,
    conversation_id TEXT    NOT NULL REFERENCES conversation (id),
    position        INTEGER NOT NULL,
    state           TEXT    NOT NULL,
    client_id       TEXT    NOT NULL,
    origin          TEXT    NOT NULL,
    content         BLOB    NOT NULL,
    settings        BLOB    NOT NULL,
    settings_rev    INTEGER NOT NULL,
    interaction_id  TEXT    NOT NULL,
    proposal_id     TEXT    NOT NULL,
    retry_of        TEXT    NOT NULL,
    reply           BLOB    NOT NULL,
    generation      INTEGER NOT NULL,
    native_turn     TEXT    NOT NULL,
    evidence        TEXT    NOT NULL,
    stop_reason     TEXT    NOT NULL,
    error_code      TEXT    NOT NULL,
    error_message   TEXT    NOT NULL,
    accepted_at     INTEGER,
    dispatched_at   INTEGER,
    started_at      INTEGER,
    ended_at        INTEGER,
    -- No event of this turn has a number up to this one, so that replacing its
    -- deltas does not read the journal from the beginning.
    journal_from    INTEGER NOT NULL
) STRICT;

CREATE INDEX turn_position ON turn (conversation_id, position);
CREATE INDEX turn_live ON turn (conversation_id, position)
    WHERE state IN ('queued', 'dispatched', 'running');
CREATE UNIQUE INDEX turn_client ON turn (conversation_id, client_id) WHERE client_id <> '';

CREATE TABLE generation (
    conversation_id  TEXT    NOT NULL REFERENCES conversation (id),
    number           INTEGER NOT NULL,
    pid              INTEGER NOT NULL,
    pid_start        INTEGER NOT NULL,
    binding_digest   TEXT    NOT NULL,
    binding_version  TEXT    NOT NULL,
    provider_version TEXT    NOT NULL,
    native_session   TEXT    NOT NULL,
    started_at       INTEGER,
    exited_at        INTEGER,
    exit             BLOB    NOT NULL,
    PRIMARY KEY (conversation_id, number)
) STRICT, WITHOUT ROWID;

-- Rule 21: nothing is spawned while the previous exit is unproven.
CREATE INDEX generation_open ON generation (conversation_id, number) WHERE exited_at IS NULL;

CREATE TABLE interaction (
    id              TEXT    NOT NULL UNIQUE,
    conversation_id TEXT    NOT NULL REFERENCES conversation (id),
    key             TEXT    NOT NULL,
    generation      INTEGER NOT NULL,
    turn_id         TEXT    NOT NULL,
    type            TEXT    NOT NULL,
    route           TEXT    NOT NULL,
    blocking        INTEGER NOT NULL,
    state           TEXT    NOT NULL,
    disposition     TEXT    NOT NULL,
    evidence        TEXT    NOT NULL,
    body            BLOB    NOT NULL,
    reply           BLOB    NOT NULL,
    answer_turn_id  TEXT    NOT NULL,
    automatic       TEXT    NOT NULL,
    opened_at       INTEGER,
    closed_at       INTEGER,
    -- The order in which they were asked.
    ordinal         INTEGER PRIMARY KEY
) STRICT;

-- Each index ends in the ordinal, the table's own key, so lists need no sorting.
CREATE INDEX interaction_conversation ON interaction (conversation_id);
CREATE INDEX interaction_key ON interaction (conversation_id, key);
CREATE INDEX interaction_unsettled ON interaction (conversation_id) WHERE state <> 'closed';

CREATE TABLE proposal (
    id              TEXT    NOT NULL UNIQUE,
    conversation_id TEXT    NOT NULL REFERENCES conversation (id),
    key             TEXT    NOT NULL,
    revision        INTEGER NOT NULL,
    turn_id         TEXT    NOT NULL,
    interaction_id  TEXT    NOT NULL,
    state           TEXT    NOT NULL,
    body            BLOB    NOT NULL,
    continuation_id TEXT    NOT NULL,
    opened_at       INTEGER,
    closed_at       INTEGER,
    -- The order in which they were made.
    ordinal         INTEGER PRIMARY KEY
) STRICT;

CREATE INDEX proposal_conversation ON proposal (conversation_id);
CREATE INDEX proposal_key ON proposal (conversation_id, key);

CREATE TABLE input (
    conversation_id TEXT    NOT NULL REFERENCES conversation (id),
    generation      INTEGER NOT NULL,
    seq             INTEGER NOT NULL,
    now             INTEGER NOT NULL,
    kind            TEXT    NOT NULL,
    body            BLOB    NOT NULL,
    PRIMARY KEY (conversation_id, generation, seq)
) STRICT;

CREATE TABLE outbox (
    conversation_id TEXT    NOT NULL REFERENCES conversation (id),
    generation      INTEGER NOT NULL,
    id              INTEGER NOT NULL,
    turn_id         TEXT    NOT NULL,
    interaction_id  TEXT    NOT NULL,
    frame           BLOB    NOT NULL,
    written_at      INTEGER,
    PRIMARY KEY (conversation_id, generation, id)
) STRICT;

CREATE TABLE timer (
    conversation_id TEXT    NOT NULL REFERENCES conversation (id),
    generation      INTEGER NOT NULL,
    name            TEXT    NOT NULL,
    due             INTEGER,
    PRIMARY KEY (conversation_id, generation, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE saved_state (
    conversation_id TEXT    NOT NULL REFERENCES conversation (id),
    generation      INTEGER NOT NULL,
    input_seq       INTEGER NOT NULL,
    state_version   INTEGER NOT NULL,
    state           BLOB    NOT NULL,
    PRIMARY KEY (conversation_id, generation)
) STRICT;

-- The journal. Its conversation is checked by the writer, which has the row of
-- the conversation at hand for the number; a foreign key would look it up again
-- for every streamed delta.
CREATE TABLE event (
    conversation_id TEXT    NOT NULL,
    seq             INTEGER NOT NULL,
    at              INTEGER,
    type            TEXT    NOT NULL,
    turn_id         TEXT    NOT NULL,
    body            BLOB    NOT NULL,
    PRIMARY KEY (conversation_id, seq)
) STRICT;

CREATE TABLE attachment (
    digest TEXT NOT NULL PRIMARY KEY,
    media  TEXT NOT NULL,
    bytes  BLOB NOT NULL
) STRICT;

CREATE TABLE binding_grant (
    harness    TEXT NOT NULL PRIMARY KEY,
    digest     TEXT NOT NULL,
    granted_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
    key             TEXT NOT NULL PRIMARY KEY,
    conversation_id TEXT NOT NULL,
    result          BLOB NOT NULL,
    at              INTEGER
) STRICT;

CREATE INDEX idempotency_at ON idempotency (at);
