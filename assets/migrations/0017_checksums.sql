-- A checksum of the row, so that a value that changed on the disk is known; NULL for a row that was written before. A packed
-- text has its checksum behind its bytes.
ALTER TABLE transactions ADD COLUMN checksum INTEGER;
ALTER TABLE observations ADD COLUMN checksum INTEGER;
ALTER TABLE notes ADD COLUMN checksum INTEGER;
ALTER TABLE alerts ADD COLUMN checksum INTEGER;
ALTER TABLE changes ADD COLUMN checksum INTEGER;
ALTER TABLE labels ADD COLUMN checksum INTEGER;
