-- Gives players of a live board the scores that PostgreSQL has for them, if the board stands where those count.
--
-- KEYS   1 board ZSET   2 meta HASH   3 applied HASH   4 change log STREAM
-- ARGV   1 channel of the events   2 the board's epoch   3 an epoch, should a new one be due
--        4 length of the change log, about   5 number of the log   6 name of the hold to end, or ''
--        7 P partitions, then P times: partition, first and last position at which the scores count
--        then R rows, then R times: player, score ('': not on the board); the rest: members that are no players
-- reply  {kind, epoch, version, changed}, kind: done; moved: the board stands elsewhere, nothing is written
--
-- A result that was applied since the scores were read has moved `applied` past them: so no old value comes back.

local zset, meta_key, log_key = KEYS[1], KEYS[2], KEYS[4]
local call = redis.call

local meta = call('HMGET', meta_key, 'epoch', 'version', 'run_id', 'hold')
if ARGV[6] ~= '' and meta[4] == ARGV[6] then call('HDEL', meta_key, 'hold') end
local function moved() return {'moved', meta[1] or '', meta[2] or '0', '0'} end

local applied, all = {}, call('HGETALL', KEYS[3])
for i = 1, #all, 2 do applied[all[i]] = all[i + 1] end
if meta[1] ~= ARGV[2] or applied.log ~= ARGV[5] then return moved() end
applied.log = nil
local at = 8
for _ = 1, tonumber(ARGV[7]) do
  local position = tonumber(applied[ARGV[at]] or '0')
  if position < tonumber(ARGV[at + 1]) or position > tonumber(ARGV[at + 2]) then return moved() end
  applied[ARGV[at]] = nil
  at = at + 3
end
if next(applied) then return moved() end  -- a partition that nobody had seen

local rows, changed = {}, 0
local function rank(player)
  local below = call('ZREVRANK', zset, player)
  return below and below + 1 or 'null'
end
local first = at + 1
for i = first, first + 2 * tonumber(ARGV[at]) - 2, 2 do
  local player, score = ARGV[i], ARGV[i + 1]
  local before, old = rank(player), call('ZSCORE', zset, player)
  if score == '' and old then
    call('ZREM', zset, player)
    rows[#rows + 1] = string.format('[%s,null,%s,null]', player, before)
  elseif score ~= '' and not (old and tonumber(old) == tonumber(score)) then
    call('ZADD', zset, score, player)
    rows[#rows + 1] = string.format('[%s,%s,%s,%s]', player, score, before, rank(player))
  end
end
changed = #rows
for i = first + 2 * tonumber(ARGV[at]), #ARGV do changed = changed + call('ZREM', zset, ARGV[i]) end
if changed == 0 then return {'done', meta[1], meta[2], '0'} end

local epoch, version = meta[1], meta[2]
local run_id = string.match(call('INFO', 'server'), 'run_id:(%x+)')
if meta[3] ~= run_id then  -- another server may have lost versions that viewers have seen
  epoch, version = ARGV[3], '0'
  call('DEL', log_key)
end
version = string.format('%.0f', tonumber(version) + 1)
call('HSET', meta_key, 'epoch', epoch, 'version', version, 'run_id', run_id)
if call('EXISTS', zset) == 1 then call('HSET', meta_key, 'filled', '1') else call('HDEL', meta_key, 'filled') end
local event = string.format('{"epoch":"%s","version":%s,"rows":[%s]}', epoch, version, table.concat(rows, ','))
call('XADD', log_key, 'MAXLEN', '~', ARGV[4], '*', 'e', event)
call('PUBLISH', ARGV[1], event)
return {'done', epoch, version, tostring(changed)}
