-- The position of this store in the log of a team, if it is a replica. `team` identifies the log; `loads` counts how often a
-- snapshot took the place of the store's content, `operations` the operations of the log so far, and `deleted` is the number of
-- the last entry that deleted something. `loss` says
-- what the database lost, and `loss_is_open` that operations of this machine are among it, which nobody has appended again. `lacks_bodies` says that bodies
-- of answers are left in the log.
CREATE TABLE replica (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    team  TEXT NOT NULL,
    seq   INTEGER NOT NULL,
    nonce TEXT NOT NULL,
    loads INTEGER NOT NULL DEFAULT 0,
    deleted INTEGER NOT NULL DEFAULT 0,
    operations INTEGER NOT NULL DEFAULT 0,
    lacks_bodies INTEGER NOT NULL DEFAULT 0,
    loss TEXT,
    loss_is_open INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The parts of a log entry that has several, until the last part is there.
CREATE TABLE log_parts (
    entry   TEXT NOT NULL,
    part    INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (entry, part)
) STRICT;

-- What people of this machine appended lately, in case the database loses its newest rows.
CREATE TABLE own_entries (
    seq     INTEGER PRIMARY KEY,
    nonce   TEXT NOT NULL,
    payload BLOB NOT NULL
) STRICT;
