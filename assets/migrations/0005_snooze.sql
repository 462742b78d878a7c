-- For alerts that are snoozed, and for those that come and go.

-- Snoozed by a person: when, and until when; until something changes if there is no such moment. One that is snoozed isn't
-- acknowledged, and the other way round.
ALTER TABLE alerts ADD COLUMN snoozed_at INTEGER;
ALTER TABLE alerts ADD COLUMN snoozed_until INTEGER;
-- Whether it was raised so often in a short time that this is said once instead of each time.
ALTER TABLE alerts ADD COLUMN flapping INTEGER NOT NULL DEFAULT 0;

-- What is snoozed no more once its moment has come, and what was cleared lately.
CREATE INDEX alerts_snoozed ON alerts (snoozed_until) WHERE snoozed_until IS NOT NULL AND cleared_at IS NULL;
CREATE INDEX alerts_cleared ON alerts (cleared_at) WHERE cleared_at IS NOT NULL;

-- What is acknowledged or snoozed is to stand behind what nobody has said anything of, and before what has no alert. So
-- `calm` is from here on -3 with a critical alert, -2 with a warning, -1 with one for information; 0, 1 and 2 likewise if
-- all that stands is acknowledged or snoozed; 3 with none. Only rows with an alert are written, which an index finds.
UPDATE transactions SET calm = ifnull((
    SELECT min(CASE
            WHEN rule IN ('unauthorized', 'unreachable', 'overdue', 'partial_success') THEN 0
            WHEN rule = 'refund' THEN 2
            ELSE 1 END - iif(acknowledged_at IS NULL, 3, 0))
    FROM alerts WHERE transaction_row = transactions.id AND cleared_at IS NULL), 3)
WHERE calm < 3;
