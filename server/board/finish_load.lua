-- Ends the loading of a board in the making: from here on it takes results, from where PostgreSQL was read.
--
-- KEYS   1 its meta HASH   2 its applied HASH   3 its ZSET
-- ARGV   1 the number of chunks   2 life of a marker, seconds   3 number of the log
--        4 up to when results are dated, Unix seconds   5 how often the season had been reset
--        6… partition, PostgreSQL's next offset, partition, offset …
-- reply  1; 0: the chunks, or their players, are not all here, load again
--
-- Rows that were loaded have no markers: until those below these offsets are too old to be retried unasked,
-- PostgreSQL is asked (see submit.lua). Of a result that is dated ahead that is later still.

local now = redis.call('TIME')[1]
local loaded = redis.call('HMGET', KEYS[1], 'chunks', 'loaded')
if loaded[1] ~= ARGV[1] or redis.call('ZCARD', KEYS[3]) ~= tonumber(loaded[2] or '0') then return 0 end
redis.call('HSET', KEYS[1], 'moved', now, 'life', ARGV[2], 'asking', math.max(now, ARGV[4]),
  'resets', ARGV[5])
redis.call('HSET', KEYS[2], 'log', ARGV[3])
for i = 6, #ARGV, 2 do
  redis.call('HSET', KEYS[1], 'ask:' .. ARGV[i], ARGV[i + 1])
  redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
end
return 1
