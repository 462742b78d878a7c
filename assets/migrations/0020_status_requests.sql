-- The requests for the status of transactions that aren't tracked: one poller sends the requests of a whole team. A row is
-- deleted when its person has the answer.
CREATE TABLE status_requests (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    profile       TEXT    NOT NULL,
    -- The parameters of the transaction, as JSON.
    params        TEXT    NOT NULL,
    asked_at      INTEGER NOT NULL,
    -- After this moment nobody waits for the answer any more, and no request is sent.
    wanted_until  INTEGER NOT NULL,
    answered_at   INTEGER,
    -- The answer, as JSON.
    observation   TEXT
) STRICT;
