-- What was learned of how long things take: on a route until a transfer settles, on a source chain until it is indexed.
CREATE TABLE forecasts (
    profile         TEXT    NOT NULL,
    from_chain      TEXT    NOT NULL,
    -- Empty for the time until a transaction is indexed: that is the source chain's alone.
    to_chain        TEXT    NOT NULL,
    -- Whether the route carries a message (general message passing).
    gmp             INTEGER NOT NULL,
    -- Count, mean and sum of squares of the logarithms of the seconds, as JSON.
    evidence        TEXT    NOT NULL,
    PRIMARY KEY (profile, from_chain, to_chain, gmp)
) STRICT, WITHOUT ROWID;

-- How long each transfer took from submission to its end, as far as our polls can tell.
CREATE TABLE durations (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    profile         TEXT    NOT NULL,
    from_chain      TEXT    NOT NULL,
    to_chain        TEXT    NOT NULL,
    gmp             INTEGER NOT NULL,
    outcome         TEXT    NOT NULL,
    took            INTEGER NOT NULL,
    at              INTEGER NOT NULL
) STRICT;

CREATE INDEX durations_by_route ON durations (profile, from_chain, to_chain, gmp);

-- What people look at now, for whoever polls: a row for each dashboard.
CREATE TABLE attention (
    viewer          INTEGER PRIMARY KEY,
    transaction_row INTEGER NOT NULL REFERENCES transactions (id) ON DELETE CASCADE,
    until           INTEGER NOT NULL
) STRICT;

CREATE INDEX attention_by_transaction ON attention (transaction_row);
