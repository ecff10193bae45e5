-- The logs that records came from, and how far persist has read the current one.

CREATE TABLE logs (
    log_id INT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cluster_id TEXT NOT NULL,
    topic TEXT NOT NULL,
    topic_id TEXT NOT NULL,
    first_seen_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    current_since TIMESTAMPTZ,
    left_at TIMESTAMPTZ CHECK (left_at IS NULL OR current_since IS NOT NULL),
    UNIQUE (cluster_id, topic, topic_id)
);
CREATE UNIQUE INDEX logs_one_is_current ON logs ((true)) WHERE current_since IS NOT NULL AND left_at IS NULL;

-- Rows of the current log alone: leaving a log deletes its rows, which fences whoever still reads it.
CREATE TABLE persist_offsets (
    log_id INT NOT NULL REFERENCES logs,
    log_partition INT NOT NULL,
    next_offset BIGINT NOT NULL CHECK (next_offset >= 0),
    complete_to TIMESTAMPTZ,
    PRIMARY KEY (log_id, log_partition)
) WITH (fillfactor = 50);
COMMENT ON COLUMN persist_offsets.complete_to IS 'every record that was in the log by then lies below next_offset';
