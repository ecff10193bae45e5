-- Players are searched by the beginning of their names, without case and accents. The key is made by
-- core/names.py (what a database folds depends on its locale); names that stand here get theirs when they are
-- saved again, until then one without case. Collation C orders by code points, so a prefix is a range.

ALTER TABLE players ADD COLUMN search_key TEXT COLLATE "C";
UPDATE players SET search_key = lower(name);
ALTER TABLE players ALTER COLUMN search_key SET NOT NULL;
CREATE INDEX players_search ON players (search_key, player_id);
