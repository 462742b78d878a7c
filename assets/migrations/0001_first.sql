-- Moments are Unix milliseconds, spans are milliseconds, absent values NULL.

CREATE TABLE transactions (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    profile         TEXT    NOT NULL,
    -- What the hash is compared by: EVM hashes in lower case.
    transaction_key TEXT    NOT NULL,
    -- What we were told.
    transaction_id  TEXT    NOT NULL,
    from_chain      TEXT    NOT NULL,
    to_chain        TEXT    NOT NULL,
    quote_id        TEXT    NOT NULL,
    request_id      TEXT,
    estimate        INTEGER,
    submitted_at    INTEGER,
    from_address    TEXT,
    ticket          TEXT,
    first_seen_at   INTEGER NOT NULL,
    -- Whether it is polled. A reason means that the service refused it.
    untracked       INTEGER NOT NULL DEFAULT 0,
    parked_reason   TEXT,
    -- What we learned.
    status          TEXT,
    status_since    INTEGER,
    record          TEXT,
    message         TEXT,
    last_checked_at INTEGER,
    last_changed_at INTEGER,
    settled_at      INTEGER,
    polls           INTEGER NOT NULL DEFAULT 0,
    failures        INTEGER NOT NULL DEFAULT 0,
    failing_since   INTEGER,
    last_error      TEXT,
    conflict        TEXT,
    UNIQUE (profile, from_chain, transaction_key)
) STRICT;

CREATE INDEX transactions_by_key ON transactions (transaction_key);

CREATE TABLE labels (
    transaction_row INTEGER NOT NULL REFERENCES transactions (id) ON DELETE CASCADE,
    label           TEXT    NOT NULL,
    PRIMARY KEY (transaction_row, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE notes (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    transaction_row INTEGER NOT NULL REFERENCES transactions (id) ON DELETE CASCADE,
    at              INTEGER NOT NULL,
    text            TEXT    NOT NULL
) STRICT;

CREATE INDEX notes_by_transaction ON notes (transaction_row);

-- One row for each answer that differs from the one before it; equal ones are counted.
CREATE TABLE observations (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    transaction_row INTEGER NOT NULL REFERENCES transactions (id) ON DELETE CASCADE,
    first_at        INTEGER NOT NULL,
    last_at         INTEGER NOT NULL,
    times           INTEGER NOT NULL DEFAULT 1,
    summary         TEXT    NOT NULL,
    http_status     INTEGER,
    latency         INTEGER NOT NULL,
    body            TEXT
) STRICT;

CREATE INDEX observations_by_transaction ON observations (transaction_row, id);

-- The change feed. `what` is JSON with the event's name.
CREATE TABLE changes (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    at              INTEGER NOT NULL,
    profile         TEXT    NOT NULL,
    transaction_row INTEGER REFERENCES transactions (id) ON DELETE CASCADE,
    event           TEXT    NOT NULL,
    what            TEXT    NOT NULL
) STRICT;

CREATE INDEX changes_by_transaction ON changes (transaction_row, seq) WHERE event <> 'polled';
CREATE INDEX changes_polled ON changes (seq) WHERE event = 'polled';

-- Up to where entries without news were dropped from the feed: who read less than that loads anew.
CREATE TABLE feed (
    only            INTEGER PRIMARY KEY CHECK (only = 1),
    floor           INTEGER NOT NULL
) STRICT;

INSERT INTO feed VALUES (1, 0);

CREATE TABLE alerts (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    profile         TEXT    NOT NULL,
    rule            TEXT    NOT NULL,
    transaction_row INTEGER REFERENCES transactions (id) ON DELETE CASCADE,
    raised_at       INTEGER NOT NULL,
    clean           INTEGER NOT NULL DEFAULT 0,
    message         TEXT    NOT NULL,
    cleared_at      INTEGER
) STRICT;

-- One alert a rule and subject may stand at a time.
CREATE UNIQUE INDEX alerts_standing ON alerts (profile, rule, ifnull(transaction_row, 0)) WHERE cleared_at IS NULL;
CREATE INDEX alerts_by_transaction ON alerts (transaction_row);

-- What each profile's poller last said of itself.
CREATE TABLE pollers (
    profile         TEXT    PRIMARY KEY,
    at              INTEGER NOT NULL,
    state           TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
