-- Which transactions contain three given characters in a row, so that a part of a hash is found without reading every
-- transaction. The index may name transactions that no longer contain them; whoever searches compares the texts. It is
-- filled while nothing else is written.
CREATE VIRTUAL TABLE search USING fts5 (texts, content = '', tokenize = 'trigram', detail = none, columnsize = 0);
-- Nothing of a deleted transaction stays in the file.
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);

CREATE TABLE search_progress (
    only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
    -- The transactions up to this one are in the index.
    indexed_to INTEGER NOT NULL
) STRICT;

INSERT INTO search_progress VALUES (1, 0);

-- The transactions in the index with texts that the index lacks.
CREATE TABLE search_outdated (
    transaction_row INTEGER PRIMARY KEY
) STRICT;

CREATE TRIGGER search_after_transaction
AFTER UPDATE OF to_chain, quote_id, request_id, from_address, ticket, from_name, to_name ON transactions
WHEN new.id <= (SELECT indexed_to FROM search_progress)
    AND (new.to_chain, new.quote_id, new.request_id, new.from_address, new.ticket, new.from_name, new.to_name)
        IS NOT (old.to_chain, old.quote_id, old.request_id, old.from_address, old.ticket, old.from_name, old.to_name)
BEGIN
    INSERT OR IGNORE INTO search_outdated VALUES (new.id);
END;

CREATE TRIGGER search_after_label AFTER INSERT ON labels
WHEN new.transaction_row <= (SELECT indexed_to FROM search_progress)
BEGIN
    INSERT OR IGNORE INTO search_outdated VALUES (new.transaction_row);
END;

CREATE TRIGGER search_after_note AFTER INSERT ON notes
WHEN new.transaction_row <= (SELECT indexed_to FROM search_progress)
BEGIN
    INSERT OR IGNORE INTO search_outdated VALUES (new.transaction_row);
END;

CREATE TRIGGER search_after_identifier AFTER INSERT ON identifiers
WHEN new.transaction_row <= (SELECT indexed_to FROM search_progress)
BEGIN
    INSERT OR IGNORE INTO search_outdated VALUES (new.transaction_row);
END;
