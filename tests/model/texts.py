"""What the machine itself runs in Redis and PostgreSQL: their clocks, copies of all keys, a look at boards.

Owns: the texts. Redis keeps the machine's clock and run id in the HASH `machine` of database 0, a copy in
database 1 and the boards of a schedule's beginning in database 3; PostgreSQL keeps its clock in a schema
that the search path names first. Neighbour: `services.py` runs them.
"""

from tests.model.clock import BEGINS_S

# The clock and run id that the schedule sets. One line: the script's own lines keep their numbers.
PRELUDE = (
    "local redis = setmetatable({call = function(command, ...) "
    "if command == 'TIME' then return {redis.call('HGET', 'machine', 'now'), '0'} end "
    "if command == 'INFO' then return 'run_id:' .. redis.call('HGET', 'machine', 'run') end "
    "return redis.call(command, ...) end}, {__index = redis}) "
)
BEGIN = """
redis.call('FLUSHDB')
redis.call('SELECT', 3)
for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', 0, 'REPLACE') end
redis.call('SELECT', 0)
redis.call('HSET', 'machine', 'now', ARGV[1], 'run', 1)
for i = 2, #ARGV do
  if redis.call('EXISTS', ARGV[i]) == 1 then redis.call('HSET', ARGV[i], 'asking', 0) end
end
"""
RESTORE = """
local machine = redis.call('HGETALL', 'machine')
redis.call('FLUSHDB')
redis.call('SELECT', ARGV[1])
for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', 0, 'REPLACE') end
redis.call('SELECT', 0)
redis.call('HSET', 'machine', unpack(machine))
redis.call('HINCRBY', 'machine', 'run', ARGV[2])
return redis.call('HGET', 'machine', 'run')
"""
COPY = """
redis.call('SELECT', ARGV[1])
redis.call('FLUSHDB')
redis.call('SELECT', 0)
for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, key, 'DB', ARGV[1], 'REPLACE') end
"""
PASS = """
for database = 0, 1 do
  redis.call('SELECT', database)
  for _, key in ipairs(redis.call('KEYS', '*')) do
    local left = redis.call('PTTL', key)
    if left >= 0 and left <= ARGV[1] * 1000 then redis.call('DEL', key)
    elseif left >= 0 then redis.call('PEXPIRE', key, left - ARGV[1] * 1000) end
  end
end
redis.call('SELECT', 0)
redis.call('HINCRBY', 'machine', 'now', ARGV[1])
"""
OBSERVE = """
redis.call('HINCRBY', 'machine', 'now', ARGV[1])
local seen = {}
for i = 2, #ARGV, 3 do
  local base, epoch, version = 'lb:{s' .. ARGV[i] .. '}', ARGV[i + 1], ARGV[i + 2]
  local meta = redis.call('HMGET', base .. ':meta', 'epoch', 'version')
  local events = {}
  if meta[1] == epoch and tonumber(meta[2]) > tonumber(version) then
    for _, entry in ipairs(redis.call('XREVRANGE', base .. ':log', '+', '-', 'COUNT', meta[2] - version)) do
      events[#events + 1] = entry[2][2]
    end
  end
  seen[#seen + 1] = {meta[1], meta[2], redis.call('ZREVRANGE', base, 0, -1, 'WITHSCORES'), events}
end
return seen
"""
CLOCK_SQL = f"""
CREATE SCHEMA machine;
CREATE TABLE machine.clock (at double precision);
INSERT INTO machine.clock VALUES ({BEGINS_S});
CREATE FUNCTION machine.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT to_timestamp(at) FROM machine.clock';
CREATE FUNCTION machine.transaction_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT to_timestamp(at) FROM machine.clock';
-- where a log was left (season_id null), and where persist stood when a season was reset
CREATE TABLE machine.history (season_id int, log_id int, log_partition int, next_offset bigint);
CREATE FUNCTION machine.note_left() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO machine.history VALUES (NULL, OLD.log_id, OLD.log_partition, OLD.next_offset); RETURN OLD;
END $$;
CREATE FUNCTION machine.note_reset() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO machine.history
        SELECT TG_ARGV[0]::int, log_id, log_partition, next_offset FROM persist_offsets;
    RETURN NULL;
END $$;
"""
TRIGGERS_SQL = """
CREATE TRIGGER left_log AFTER DELETE ON persist_offsets FOR EACH ROW EXECUTE FUNCTION machine.note_left();
CREATE TRIGGER reset AFTER TRUNCATE ON match_results_s1 EXECUTE FUNCTION machine.note_reset(1);
CREATE TRIGGER reset AFTER TRUNCATE ON match_results_s2 EXECUTE FUNCTION machine.note_reset(2);
"""

BLOCKED_SQL = """
SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')
"""
