-- Whether the first answer about a transaction already showed the end: then its duration is an upper bound, however often
-- it is polled afterwards. NULL for what settled before this version.
ALTER TABLE transactions ADD COLUMN ended_unseen INTEGER;
