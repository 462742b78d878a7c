-- Who made an edit; NULL where nobody said their name.
ALTER TABLE edits ADD COLUMN author TEXT;
