-- The header `x-request-id` of the entry's last answer, by which the service's support finds a request.
ALTER TABLE observations ADD COLUMN response_id TEXT;
