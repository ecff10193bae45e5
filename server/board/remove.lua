-- Empties a board: it takes no results any more, and viewers are told.
--
-- KEYS   1 board ZSET   2 meta HASH   3 applied HASH   4 change log STREAM
-- ARGV   1 channel of the events   2 the new epoch   3 length of the change log, about
-- reply  OK

local season = redis.call('HGET', KEYS[2], 'season')
local event = '{"epoch":"' .. ARGV[2] .. '","version":1,"rows":[],"reason":"reset"}'
redis.call('UNLINK', unpack(KEYS))
redis.call('HSET', KEYS[2], 'epoch', ARGV[2], 'version', '1',
  'run_id', string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'))
if season then redis.call('HSET', KEYS[2], 'season', season) end
redis.call('XADD', KEYS[4], 'MAXLEN', '~', ARGV[3], '*', 'e', event)
redis.call('PUBLISH', ARGV[1], event)
return redis.status_reply('OK')
