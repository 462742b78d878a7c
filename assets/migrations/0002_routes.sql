-- Chains as the service last described them.
CREATE TABLE chains (
    profile         TEXT    NOT NULL,
    id              TEXT    NOT NULL,
    -- The name for people; NULL if none came.
    name            TEXT,
    config          TEXT    NOT NULL,
    learned_at      INTEGER NOT NULL,
    PRIMARY KEY (profile, id)
) STRICT, WITHOUT ROWID;

-- Routes that were asked for, each with its answer once that has come.
CREATE TABLE quotes (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    profile         TEXT    NOT NULL,
    -- The body of the request, as JSON.
    request         TEXT    NOT NULL,
    asked_at        INTEGER NOT NULL,
    -- After this nobody waits for the answer any more, and no request is spent on it.
    wanted_until    INTEGER NOT NULL,
    -- When whoever polls took it on: it is sent once, whatever becomes of it.
    sent_at         INTEGER,
    answered_at     INTEGER,
    answer          TEXT,
    http_status     INTEGER,
    body            TEXT,
    -- Of the answer, for transactions that are tracked with it.
    quote_id        TEXT,
    estimate        INTEGER
) STRICT;

CREATE INDEX quotes_by_request ON quotes (profile, request, asked_at);
CREATE INDEX quotes_by_quote_id ON quotes (profile, quote_id) WHERE quote_id IS NOT NULL;
CREATE INDEX quotes_pending ON quotes (profile, wanted_until) WHERE sent_at IS NULL AND answered_at IS NULL;

-- Wallets that may not ask for call data before a moment, with the service's words.
CREATE TABLE wallet_limits (
    profile         TEXT    NOT NULL,
    wallet          TEXT    NOT NULL,
    until           INTEGER NOT NULL,
    message         TEXT    NOT NULL,
    PRIMARY KEY (profile, wallet)
) STRICT, WITHOUT ROWID;

-- A person asked to poll it, and no answer has come since.
ALTER TABLE transactions ADD COLUMN poll_requested_at INTEGER;
