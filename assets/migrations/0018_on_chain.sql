-- What the chain itself says about a transaction, and whether a person asks for it.
CREATE TABLE on_chain (
    transaction_row INTEGER PRIMARY KEY REFERENCES transactions (id) ON DELETE CASCADE,
    -- What the source chain says, by the name of its verdict; NULL while it was only asked for.
    verdict         TEXT,
    -- All that the chains said, as JSON; NULL while it was only asked for.
    reading         TEXT,
    -- When a person asked, while the chain hasn't been asked since.
    requested_at    INTEGER
) STRICT;
CREATE INDEX on_chain_by_verdict ON on_chain (verdict) WHERE verdict IS NOT NULL;
-- Read after each commit.
CREATE INDEX on_chain_requested ON on_chain (requested_at) WHERE requested_at IS NOT NULL;
