-- A Redis that goes back to a copy from before a season's reset has a board of results that are gone.

ALTER TABLE seasons ADD COLUMN resets INT NOT NULL DEFAULT 0;
COMMENT ON COLUMN seasons.resets IS 'how often the season was reset; a board knows at which count it was made';
