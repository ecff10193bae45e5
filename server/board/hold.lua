-- Holds a live board for a moment: it takes nothing meanwhile (`wait`), so its position stands still.
--
-- KEYS   1 meta HASH   2 applied HASH
-- ARGV   1 milliseconds
-- reply  {hold, epoch, applied}: until when (Unix milliseconds, its name in repair.lua), and field, value, …
--        hold '': somebody else holds the board, or there is none

local now = redis.call('TIME')
local at = now[1] * 1000 + math.floor(now[2] / 1000)
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'hold')
local hold = ''
if meta[1] and at >= tonumber(meta[2] or '0') then
  hold = string.format('%.0f', at + ARGV[1])
  redis.call('HSET', KEYS[1], 'hold', hold)
end
return {hold, meta[1] or '', redis.call('HGETALL', KEYS[2])}
