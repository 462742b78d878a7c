-- How far alerts have been told outside, by each way: the feed itself is the queue of what has yet to be.
CREATE TABLE heralds (
    profile TEXT NOT NULL,
    way TEXT NOT NULL,
    -- The last entry of the feed that was told, or that there was nothing to tell of.
    seq INTEGER NOT NULL,
    -- Why the last one wasn't told, or the last that was given up; nothing if it was.
    error TEXT,
    PRIMARY KEY (profile, way)
) STRICT, WITHOUT ROWID;
