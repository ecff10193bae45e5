-- What an audit saw of the rows themselves, so that the next one notices rows that went or changed meanwhile.

ALTER TABLE audits ADD COLUMN rows_below BIGINT, ADD COLUMN fingerprint BIGINT;
COMMENT ON COLUMN audits.rows_below IS 'rows below the position that was audited; these never change';
COMMENT ON COLUMN audits.fingerprint IS 'of those rows, every column of each, in no order';
