-- Puts a board in the making in the place of the live one, if it has read as far, and tells the viewers.
--
-- KEYS   1 live ZSET   2 live meta HASH   3 live applied HASH   4 live change log STREAM
--        5 new ZSET   6 new meta HASH   7 new applied HASH   8 new change log   9 SET of rebuilds   10 lost flag
-- ARGV   1 channel of the events   2 the new epoch   3 length of the change log, about   4 id of the rebuild
--        5 milliseconds for which a live board that has read further is held: it takes nothing (`wait`)
-- reply  swapped; or, with nothing changed: behind (the live board has read further), unloaded (start over)
--
-- The lost flag becomes "0" for some seconds: a report that was on its way is about the board that went.
-- A live board of another log does not count. UNLINK takes the old board's memory back in the background;
-- RENAME onto a key that is there would do it on the spot. No ZSET is a board without players.

local log = redis.call('HGET', KEYS[7], 'log')
local meta = redis.call('HMGET', KEYS[6], 'life', 'filled')
if not log or not meta[1] or meta[2] and redis.call('EXISTS', KEYS[5]) == 0 then return 'unloaded' end
local live = redis.call('HGETALL', KEYS[3])
local read, same = {}, false
for i = 1, #live, 2 do
  if live[i] == 'log' then same = live[i + 1] == log else read[live[i]] = tonumber(live[i + 1]) end
end
for partition, offset in pairs(read) do
  if same and tonumber(redis.call('HGET', KEYS[7], partition) or '0') < offset then
    local now = redis.call('TIME')
    local hold = now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[5]
    if tonumber(ARGV[5]) > 0 then redis.call('HSET', KEYS[2], 'hold', string.format('%.0f', hold)) end
    return 'behind'
  end
end

redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[8])
for i = 1, 3 do
  if redis.call('EXISTS', KEYS[4 + i]) == 1 then redis.call('RENAME', KEYS[4 + i], KEYS[i]) end
end
local event = '{"epoch":"' .. ARGV[2] .. '","version":1,"rows":[],"reason":"replaced"}'
redis.call('HDEL', KEYS[2], 'chunks', 'loaded')
redis.call('HSET', KEYS[2], 'epoch', ARGV[2], 'version', '1',
  'run_id', string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'))
redis.call('SREM', KEYS[9], ARGV[4])
redis.call('SET', KEYS[10], '0', 'EX', 3)
redis.call('XADD', KEYS[4], 'MAXLEN', '~', ARGV[3], '*', 'e', event)
redis.call('PUBLISH', ARGV[1], event)
return 'swapped'
