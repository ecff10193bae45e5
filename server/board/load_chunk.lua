-- Takes one numbered chunk of players into a board in the making.
--
-- KEYS   1 its ZSET   2 its meta HASH
-- ARGV   1 the number of the chunk, from 0   2… score, player, score, player …
-- reply  the number of the chunk that is due next; -1: there is no such board in the making
--
-- The very last chunk once more is taken for what it is, a repetition: its reply got lost on the way.

local due = tonumber(redis.call('HGET', KEYS[2], 'chunks') or '-1')
if due ~= tonumber(ARGV[1]) then return due end
redis.call('ZADD', KEYS[1], unpack(ARGV, 2))
redis.call('HSET', KEYS[2], 'filled', '1')
redis.call('HINCRBY', KEYS[2], 'loaded', (#ARGV - 1) / 2)
return redis.call('HINCRBY', KEYS[2], 'chunks', 1)
