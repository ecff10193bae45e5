-- What audits found: rows, totals and board of a season held against each other at one position in the log.

CREATE TABLE audits (
    audit_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    season_id INT NOT NULL REFERENCES seasons,
    finished_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    epoch TEXT NOT NULL,
    version BIGINT NOT NULL,
    log_id INT NOT NULL,
    applied JSONB NOT NULL,
    players BIGINT NOT NULL,
    results BIGINT NOT NULL,
    sha256_board TEXT NOT NULL,
    sha256_sql TEXT NOT NULL,
    differences JSONB NOT NULL,
    examples JSONB NOT NULL,
    seconds DOUBLE PRECISION NOT NULL
);
CREATE INDEX audits_by_season ON audits (season_id, audit_id DESC);
COMMENT ON COLUMN audits.applied IS 'partition → the next offset that the board had read up to';
COMMENT ON COLUMN audits.differences IS 'kind → how many; empty: board, totals and rows are equal';
COMMENT ON COLUMN audits.examples IS 'the first differences, a sentence each';
