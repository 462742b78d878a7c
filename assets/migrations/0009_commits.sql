-- Counts commits, so that a process can tell those of others from its own.
ALTER TABLE feed ADD COLUMN commits INTEGER NOT NULL DEFAULT 0;
