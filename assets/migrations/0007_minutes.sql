-- What the budget was spent on, minute by minute, as whoever polls says of itself every second: for the charts, a day long.
CREATE TABLE minutes (
    profile         TEXT    NOT NULL,
    -- When the minute began.
    at              INTEGER NOT NULL,
    requests        INTEGER NOT NULL,
    -- How many of these were answered with 429, and how many brought nothing for another reason.
    throttled       INTEGER NOT NULL,
    failed          INTEGER NOT NULL,
    -- For so long somebody polled, by a clock that doesn't jump.
    polled_for      INTEGER NOT NULL,
    -- The limit of the ID in requests per second, as it last was.
    limited_to      REAL    NOT NULL,
    -- The greatest age of the oldest answer; NULL if nothing was to be asked about.
    oldest          INTEGER,
    PRIMARY KEY (profile, at)
) STRICT, WITHOUT ROWID;
