-- Tells where a board stands at one instant, and what its change log has told since an earlier look.
--
-- KEYS   1 board ZSET   2 meta HASH   3 applied HASH   4 change log STREAM
-- ARGV   1 id of the newest entry that is known ('': none is, and no entries are wanted)
--        2 entries of one look, at most   3… members whose ranks are wanted
-- reply  {epoch, version, players, newest, counted, applied, entries, ranks}
--        newest   id of the change log's newest entry, '0-0' where it has none
--        applied  field, value, field, value …   entries  those after ARGV 1, oldest first
--        ranks    a rank a member, from 1 on; 0: not on the board
--        epoch    '' where there is no board
--
-- Only reads: called by EVAL_RO with its text. Where as many entries came as were wanted at most, there may be
-- more: look again.

local meta = redis.call('HMGET', KEYS[2], 'epoch', 'version', 'counted')
local newest = redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)
local entries, ranks = {}, {}
if ARGV[1] ~= '' then
  for _, entry in ipairs(redis.call('XRANGE', KEYS[4], '(' .. ARGV[1], '+', 'COUNT', ARGV[2])) do
    entries[#entries + 1] = {entry[1], entry[2][2]}
  end
end
for i = 3, #ARGV do
  local rank = redis.call('ZREVRANK', KEYS[1], ARGV[i])
  ranks[#ranks + 1] = rank and rank + 1 or 0
end
return {meta[1] or '', meta[2] or '0', redis.call('ZCARD', KEYS[1]), newest[1] and newest[1][1] or '0-0',
  meta[3] or '0', redis.call('HGETALL', KEYS[3]), entries, ranks}
