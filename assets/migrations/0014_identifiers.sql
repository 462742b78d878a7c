-- What the service calls a transaction besides its source hash: the hashes of its steps and of its destination, and the ID of
-- its request. People send any of them.
CREATE TABLE identifiers (
    -- In lower case.
    value           TEXT    NOT NULL,
    transaction_row INTEGER NOT NULL REFERENCES transactions (id) ON DELETE CASCADE,
    PRIMARY KEY (value, transaction_row)
) STRICT, WITHOUT ROWID;

CREATE INDEX identifiers_by_transaction ON identifiers (transaction_row);

-- Records of an earlier version, whose identifiers aren't in the table yet.
CREATE TABLE unindexed_records (
    transaction_row INTEGER PRIMARY KEY REFERENCES transactions (id) ON DELETE CASCADE
) STRICT;

INSERT INTO unindexed_records SELECT transaction_row FROM records WHERE record IS NOT NULL;
