-- Profiles that a person wants left alone, until a moment.
CREATE TABLE pauses (
    profile             TEXT    PRIMARY KEY,
    until               INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
