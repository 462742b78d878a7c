-- Who did something; NULL where nobody set a name, and for what was written before.

-- Who tracked the transaction, and who set its ticket.
ALTER TABLE transactions ADD COLUMN tracked_by TEXT;
ALTER TABLE transactions ADD COLUMN ticket_by TEXT;
-- Who added the label.
ALTER TABLE labels ADD COLUMN author TEXT;
-- Who wrote the note.
ALTER TABLE notes ADD COLUMN author TEXT;
-- Who acknowledged or snoozed the alert.
ALTER TABLE alerts ADD COLUMN handled_by TEXT;
-- Who made the change; NULL also where an answer or the poller did.
ALTER TABLE changes ADD COLUMN author TEXT;

-- The undo history is each person's own, and names are completed.
CREATE INDEX edits_by_author ON edits (profile, author);
CREATE INDEX edits_by_name ON edits (author COLLATE NOCASE) WHERE author IS NOT NULL;
