-- Names of players, for those who show them; results need none.

CREATE TABLE players (
    player_id BIGINT PRIMARY KEY,
    name TEXT NOT NULL
);
