-- A checksum of the row, so that a value that changed on the disk is known; NULL for a row that was written before.
ALTER TABLE quotes ADD COLUMN checksum INTEGER;
ALTER TABLE chains ADD COLUMN checksum INTEGER;
ALTER TABLE forecasts ADD COLUMN checksum INTEGER;
ALTER TABLE on_chain ADD COLUMN checksum INTEGER;
