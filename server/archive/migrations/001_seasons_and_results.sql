-- Seasons, their results and their players' totals. Each season has a partition of both tables, made with it.

CREATE TABLE seasons (
    season_id INT PRIMARY KEY,
    name TEXT NOT NULL,
    starts_at TIMESTAMPTZ NOT NULL,
    ends_at TIMESTAMPTZ NOT NULL,
    operator TEXT NOT NULL CHECK (operator IN ('best', 'sum')),
    points_bits INT NOT NULL,
    time_bits INT NOT NULL,
    tick_us BIGINT NOT NULL,
    time_zone TEXT NOT NULL,
    counts_from TIMESTAMPTZ NOT NULL,
    grace_us BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE match_results (
    match_id UUID NOT NULL,
    player_id BIGINT NOT NULL,
    season_id INT NOT NULL,
    points INT NOT NULL CHECK (points >= 0),
    achieved_at TIMESTAMPTZ NOT NULL,
    log_id INT NOT NULL,
    log_partition INT NOT NULL,
    log_offset BIGINT NOT NULL,
    PRIMARY KEY (match_id, player_id, season_id)
) PARTITION BY LIST (season_id);
CREATE INDEX idx_season_player ON match_results (season_id, player_id);
COMMENT ON COLUMN match_results.log_id IS 'with log_partition and log_offset: where the record was first read';

CREATE TABLE player_totals (
    season_id INT NOT NULL,
    player_id BIGINT NOT NULL,
    points BIGINT NOT NULL CHECK (points >= 0),
    achieved_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (season_id, player_id)
) PARTITION BY LIST (season_id);
COMMENT ON TABLE player_totals IS 'The board: its order is points DESC, achieved_at, player_id::text COLLATE "C" DESC';
COMMENT ON COLUMN player_totals.points IS 'best: the highest; sum: all added, held at the season''s maximum';
COMMENT ON COLUMN player_totals.achieved_at IS 'start of the tick that counts, not the instant within it';
