-- For the list by the age of its answers: what is settled has one only to be looked up, and what has none yet is found by its status.
CREATE INDEX transactions_checked ON transactions (last_checked_at) WHERE settled_at IS NULL AND last_checked_at IS NOT NULL;
