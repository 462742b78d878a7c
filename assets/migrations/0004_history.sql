-- For a million transactions: rows that are small enough to be searched one after the other, with an index for each order that
-- people keep open, and a history whose bodies are compressed.

CREATE TABLE transactions_anew (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    profile             TEXT    NOT NULL,
    -- What we were told.
    transaction_id      TEXT    NOT NULL,
    from_chain          TEXT    NOT NULL,
    to_chain            TEXT    NOT NULL,
    quote_id            TEXT    NOT NULL,
    request_id          TEXT,
    estimate            INTEGER,
    submitted_at        INTEGER,
    from_address        TEXT,
    ticket              TEXT,
    first_seen_at       INTEGER NOT NULL,
    -- Whether it is polled. A reason means that the service refused it.
    untracked           INTEGER NOT NULL DEFAULT 0,
    parked_reason       TEXT,
    -- A person asked to poll it, and no answer has come since.
    poll_requested_at   INTEGER,
    -- What we learned; the last record itself stands in `records`.
    status              TEXT,
    status_since        INTEGER,
    message             TEXT,
    last_checked_at     INTEGER,
    last_changed_at     INTEGER,
    settled_at          INTEGER,
    polls               INTEGER NOT NULL DEFAULT 0,
    failures            INTEGER NOT NULL DEFAULT 0,
    failing_since       INTEGER,
    last_error          TEXT,
    conflict            TEXT,
    -- Of the last record what lists show: whether it carries a message, and what it calls the two chains that we were told.
    gmp                 INTEGER,
    from_name           TEXT,
    to_name             TEXT,
    -- How calm it is: 0 with a critical alert, 1 with a warning, 2 with one for information, 3 with none.
    calm                INTEGER NOT NULL DEFAULT 3,
    -- The deadline while it waits, and the largest number otherwise, so that it comes last.
    due                 INTEGER NOT NULL,
    -- What the hash is compared by: EVM hashes in lower case with 0x, others as they are.
    transaction_key     TEXT GENERATED ALWAYS AS (
        CASE
            -- Nearly all of them, and this is many times quicker than what follows.
            WHEN substr(transaction_id, 1, 2) = '0x' AND transaction_id = lower(transaction_id) THEN transaction_id
            WHEN substr(transaction_id, 1, 2) IN ('0x', '0X') AND length(transaction_id) > 2
                AND substr(transaction_id, 3) NOT GLOB '*[^0-9a-fA-F]*'
                THEN '0x' || lower(substr(transaction_id, 3))
            WHEN length(transaction_id) = 64 AND transaction_id NOT GLOB '*[^0-9a-fA-F]*'
                THEN '0x' || lower(transaction_id)
            ELSE transaction_id
        END) VIRTUAL,
    -- When it was submitted, as far as we know.
    submitted           INTEGER GENERATED ALWAYS AS (ifnull(submitted_at, first_seen_at)) VIRTUAL
) STRICT;

INSERT INTO transactions_anew (id, profile, transaction_id, from_chain, to_chain, quote_id, request_id, estimate,
    submitted_at, from_address, ticket, first_seen_at, untracked, parked_reason, poll_requested_at, status, status_since,
    message, last_checked_at, last_changed_at, settled_at, polls, failures, failing_since, last_error, conflict, gmp,
    from_name, to_name, calm, due)
SELECT id, profile, transaction_id, from_chain, to_chain, quote_id, request_id, estimate,
    submitted_at, from_address, ticket, first_seen_at, untracked, parked_reason, poll_requested_at, status, status_since,
    message, last_checked_at, last_changed_at, settled_at, polls, failures, failing_since, last_error, conflict,
    json_extract(record, '$.is_gmp'),
    CASE json_extract(record, '$.from.chain_id') WHEN from_chain THEN json_extract(record, '$.from.chain_name') END,
    CASE json_extract(record, '$.to.chain_id') WHEN to_chain THEN json_extract(record, '$.to.chain_name') END,
    ifnull((SELECT min(CASE
            WHEN rule IN ('unauthorized', 'unreachable', 'overdue', 'partial_success') THEN 0
            WHEN rule = 'refund' THEN 2
            ELSE 1 END)
        FROM alerts WHERE transaction_row = transactions.id AND cleared_at IS NULL), 3),
    CASE WHEN settled_at IS NULL AND (status IS NULL OR status IN ('ongoing', 'not_found'))
        THEN ifnull(submitted_at, first_seen_at) + max(900000, 2 * min(ifnull(estimate, 0), 604800000))
        ELSE 9223372036854775807 END
FROM transactions;

-- The last record, as far as it could be read, and the last body where no entry of the history has the same.
CREATE TABLE records (
    transaction_row     INTEGER PRIMARY KEY REFERENCES transactions (id) ON DELETE CASCADE,
    -- Text as it is, or compressed (see `observations.body`).
    record              ANY,
    record_dictionary   INTEGER REFERENCES dictionaries (id),
    record_base         INTEGER,
    body                ANY,
    body_dictionary     INTEGER REFERENCES dictionaries (id),
    body_base           INTEGER
) STRICT;

INSERT INTO records (transaction_row, record) SELECT id, record FROM transactions WHERE record IS NOT NULL;

-- What the bodies and the records of one route have in common, without what belongs to a single transaction: the newest is
-- used. Compressed.
CREATE TABLE dictionaries (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    from_chain          TEXT    NOT NULL,
    to_chain            TEXT    NOT NULL,
    content             BLOB    NOT NULL
) STRICT;

CREATE INDEX dictionaries_by_route ON dictionaries (from_chain, to_chain, id);

DROP TABLE transactions;
ALTER TABLE transactions_anew RENAME TO transactions;

CREATE UNIQUE INDEX transactions_by_key ON transactions (transaction_key, from_chain, profile);
-- The orders that people keep open. The row's number, which every index ends with, is the last key of all of them.
CREATE INDEX transactions_by_urgency ON transactions (calm, due);
CREATE INDEX transactions_active ON transactions (calm, due) WHERE settled_at IS NULL AND untracked = 0;
CREATE INDEX transactions_by_status ON transactions (status, calm, due);
CREATE INDEX transactions_settled ON transactions (settled_at DESC) WHERE settled_at IS NOT NULL;
CREATE INDEX transactions_changed ON transactions (last_changed_at DESC) WHERE last_changed_at IS NOT NULL;
CREATE INDEX transactions_by_ticket ON transactions (ticket COLLATE NOCASE) WHERE ticket IS NOT NULL;
-- Whoever polls, and the age of the oldest answer.
CREATE INDEX transactions_polled ON transactions (profile, ifnull(last_checked_at, first_seen_at))
    WHERE settled_at IS NULL AND untracked = 0 AND parked_reason IS NULL;
CREATE INDEX transactions_asked_for ON transactions (profile) WHERE poll_requested_at IS NOT NULL;

CREATE INDEX labels_by_label ON labels (label COLLATE NOCASE, transaction_row);

-- One row for each answer that brought news; the others are counted with the one before.
CREATE TABLE observations_anew (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    transaction_row     INTEGER NOT NULL REFERENCES transactions (id) ON DELETE CASCADE,
    first_at            INTEGER NOT NULL,
    last_at             INTEGER NOT NULL,
    times               INTEGER NOT NULL DEFAULT 1,
    summary             TEXT    NOT NULL,
    http_status         INTEGER,
    latency             INTEGER NOT NULL,
    -- Text as it came, or that text compressed by zstd: with a dictionary, with the body of another observation of the same
    -- transaction behind it, or by itself. NULL if none came or it was dropped.
    body                ANY,
    body_dictionary     INTEGER REFERENCES dictionaries (id),
    body_base           INTEGER
) STRICT;

INSERT INTO observations_anew (id, transaction_row, first_at, last_at, times, summary, http_status, latency, body)
SELECT id, transaction_row, first_at, last_at, times, summary, http_status, latency, body FROM observations;

DROP TABLE observations;
ALTER TABLE observations_anew RENAME TO observations;
CREATE INDEX observations_by_transaction ON observations (transaction_row);

-- The change feed. Of an entry about a transaction the profile is that transaction's, and `what` is JSON only where an event
-- says more than its name.
CREATE TABLE changes_anew (
    seq                 INTEGER PRIMARY KEY AUTOINCREMENT,
    at                  INTEGER NOT NULL,
    profile             TEXT,
    transaction_row     INTEGER REFERENCES transactions (id) ON DELETE CASCADE,
    event               TEXT    NOT NULL,
    what                TEXT,
    -- The answer that showed it.
    observation         INTEGER
) STRICT;

INSERT INTO changes_anew (seq, at, profile, transaction_row, event, what)
SELECT seq, at, CASE WHEN transaction_row IS NULL THEN profile END, transaction_row, event,
    nullif(json_remove(what, '$.event'), '{}')
FROM changes WHERE event <> 'polled';

-- Entries that only say that something was polled, numbered with the others: only the newest are kept, and apart, so that the
-- room of those that go is free again.
CREATE TABLE polls (
    seq                 INTEGER PRIMARY KEY,
    at                  INTEGER NOT NULL,
    transaction_row     INTEGER NOT NULL
) STRICT;

INSERT INTO polls SELECT seq, at, transaction_row FROM changes WHERE event = 'polled' AND transaction_row IS NOT NULL;

DROP TABLE changes;
ALTER TABLE changes_anew RENAME TO changes;
CREATE INDEX changes_by_transaction ON changes (transaction_row);

DROP INDEX durations_by_route;
CREATE INDEX durations_by_route ON durations (from_chain, to_chain);

-- Acknowledged by a person, with their words.
ALTER TABLE alerts ADD COLUMN acknowledged_at INTEGER;
ALTER TABLE alerts ADD COLUMN acknowledged_note TEXT;
CREATE INDEX alerts_standing_of_profiles ON alerts (profile) WHERE cleared_at IS NULL AND transaction_row IS NULL;

-- A note that was taken back stays.
ALTER TABLE notes ADD COLUMN taken_back_at INTEGER;

-- What people did, each with what it takes to take it back.
CREATE TABLE edits (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    at                  INTEGER NOT NULL,
    profile             TEXT    NOT NULL,
    -- In words.
    summary             TEXT    NOT NULL,
    -- Each row's state before and after, as JSON.
    steps               TEXT    NOT NULL,
    taken_back_at       INTEGER
) STRICT;
