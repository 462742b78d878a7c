-- For the list by the age of its answers, those without one first.
CREATE INDEX transactions_checked ON transactions (last_checked_at);
