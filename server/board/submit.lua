-- Applies one batch of results of one board and one partition of the log: exactly once, all of it or nothing.
--
-- KEYS   1 board ZSET   2 meta HASH   3 applied HASH   4 change log STREAM   5… one dedup marker per result
-- ARGV   1 number of the log   2 partition   3, 4 the range this call covers: first offset, next offset
--        5 operator (best, sum)   6 2^time_bits   7 the season's largest score
--        8 life of a marker, seconds   9 length of the change log, about   10 an epoch, should a new one be due
--       11 channel of the events; '': a board in the making, which has neither ranks, change log nor events
--       12 PostgreSQL's next offset of this partition, -1: none of this log; '': it was not asked
--       13 '1': PostgreSQL is half a marker's life behind
--       14 where it was asked, a digit per result, '1': PostgreSQL has this result at another position
--       15 the results by offset, a line each: offset, player, score, achieved_at in Unix seconds
-- reply  {kind, applied, epoch, version, saturated, codes, rows}, all text
--        kind   done; or, with nothing written: seek (replay from applied), rebuild (no board of this log; one
--               of which a key was lost loses its `applied`, too), ask (bring PostgreSQL's answers), wait
--               (PostgreSQL has not read far enough, or swap.lua holds the board for a moment)
--        codes  a word per result: 1 new record, 0 none, -1 seen before, -2 below applied (skipped)
--        rows   [player,score,before,after],… of the new records in order; before is null for a new player
-- error  INVALID …: a value is not what it should be; nothing is written
--
-- Numbers become text by '%.0f' alone: tostring loses digits above 10^14. meta also keeps `moved` (when the
-- board last moved), `life` (of the markers then), `counted` (results since the board was made, none twice),
-- `filled` (there are players, so there must be a ZSET), `asking` (when markers began to be missing),
-- `ask:<partition>` (applied at that time) and `hold` (see swap.lua).

local zset, meta_key, applied_key, log_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local log, partition, best, live = ARGV[1], ARGV[2], ARGV[5] == 'best', ARGV[11] ~= ''
local from, to, span, largest = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[6]), tonumber(ARGV[7])
local life, asked, answers, lines, count = tonumber(ARGV[8]), ARGV[12] ~= '', ARGV[14], ARGV[15], #KEYS - 4
local call, format, find, floor = redis.call, string.format, string.find, math.floor

local function text(number) return format('%.0f', number) end
local function invalid(what) return redis.error_reply('INVALID ' .. what) end

-- Redis rolls no script back: every value is checked, and every key's type by a read, before the first write.
if not (from and to and from <= to) or (asked and #answers ~= count) or redis.call('XLEN', log_key) < 0 then
  return invalid('batch: range ' .. ARGV[3] .. ' to ' .. ARGV[4] .. ', ' .. count .. ' results, ' .. #answers .. ' answers')
end
local offsets, players, scores, times, at, last = {}, {}, {}, {}, 1, from - 1
for i = 1, count do
  local _, stop, offset, player, score, time = find(lines, '^(%d+) (%-?%d+) (%d+) (%-?%d+)\n', at)
  offset, score = tonumber(offset), tonumber(score)
  if not stop or offset <= last or offset >= to or score > largest then
    return invalid('result ' .. i .. ' of the batch: ' .. string.sub(lines, at, at + 80))
  end
  offsets[i], players[i], scores[i], times[i] = offset, player, score, tonumber(time)
  at, last = stop + 1, offset
end
if at <= #lines then return invalid('batch: more results than markers') end

-- Does the call belong to this board, and follow what it has?
local meta = call('HMGET', meta_key, 'epoch', 'version', 'run_id', 'moved', 'life', 'asking', 'ask:' .. partition, 'counted',
  'hold', 'filled')
local applied = call('HMGET', applied_key, 'log', partition)
local position, epoch, version = applied[2] or '0', meta[1] or '', meta[2] or '0'
local function unwritten(kind) return {kind, position, epoch, version, '0', '', ''} end
if applied[1] ~= log then return unwritten('rebuild') end
if not meta[5] or meta[10] and call('EXISTS', zset) == 0 then
  call('UNLINK', applied_key)
  return unwritten('rebuild')
end
local first = tonumber(position)
if first < from then return unwritten('seek') end

-- Where a marker may be missing, PostgreSQL's word stands in for it.
local time = call('TIME')
local now = tonumber(time[1])
if meta[9] and now * 1000 + floor(time[2] / 1000) < tonumber(meta[9]) then return unwritten('wait') end
local gap = life > tonumber(meta[5]) or now - tonumber(meta[4] or '0') >= life
local asking = gap or now - tonumber(meta[6] or '0') <= life
local needed = gap and first or tonumber(meta[7] or '0')
local markers = count > 0 and call('MGET', unpack(KEYS, 5)) or {}
local mine = log .. ':'
for i = 1, count do
  if markers[i] and string.sub(markers[i], 1, #mine) ~= mine then markers[i] = false end
  if offsets[i] >= first and not markers[i] and (asking or times[i] <= now - life) then
    if not asked then return unwritten('ask') end
    local read = tonumber(ARGV[12])
    if ARGV[13] == '1' or read < 0 or (asking and read < needed) then return unwritten('wait') end
  end
end

local scored = count > 0 and call('ZMSCORE', zset, unpack(players)) or {}
local current, marked, codes, rows, saturated, counted = {}, {}, {}, {}, 0, tonumber(meta[8] or '0')

local function sum(old, score)  -- its time is that of the latest points; of no points, tick 0
  local points, low = floor(score / span), score % span
  if points == 0 then low = span - 1 end
  if old then
    points, low = points + floor(old / span), math.min(low, old % span)
    if points > floor(largest / span) then points, saturated = floor(largest / span), saturated + 1 end
  end
  return points * span + low
end

local function put(player, new, known)  -- a row of the event, with ranks as of now
  local score, before, after = text(new), 'null', 'null'
  if known and live then before = call('ZREVRANK', zset, player) + 1 end
  call('ZADD', zset, score, player)
  if live then after = call('ZREVRANK', zset, player) + 1 end
  rows[#rows + 1] = format('[%s,%s,%s,%s]', player, score, before, after)
end

for i = 1, count do
  local key, player = KEYS[4 + i], players[i]
  local here = format('%s:%s:%.0f', log, partition, offsets[i])
  local marker = marked[key] or markers[i]
  if offsets[i] < first then
    codes[i] = '-2'
  elseif marker and marker ~= here or not marker and string.byte(answers, i) == 49 then
    codes[i] = '-1'
  else
    marked[key] = here
    call('SET', key, here, 'EX', life + math.max(0, times[i] - now))  -- a result dated ahead can be retried longer
    local old = current[player] or scored[i] and tonumber(scored[i])
    local new = best and math.max(old or 0, scores[i]) or not best and sum(old, scores[i])
    current[player], codes[i], counted = new, new == old and '0' or '1', counted + 1
    if new ~= old then put(player, new, old) end
  end
end

if to >= first then
  if gap then
    local fields, all = {'asking', math.max(now, tonumber(meta[6] or '0'))}, call('HGETALL', applied_key)
    for i = 1, #all, 2 do
      if all[i] ~= 'log' then fields[#fields + 1], fields[#fields + 2] = 'ask:' .. all[i], all[i + 1] end
    end
    call('HSET', meta_key, unpack(fields))
  end
  position = ARGV[4]
  call('HSET', applied_key, partition, position)
  call('HSET', meta_key, 'moved', now, 'life', life, 'counted', text(counted))
end

if #rows > 0 then
  local run_id = string.match(call('INFO', 'server'), 'run_id:(%x+)')
  if epoch == '' or meta[3] ~= run_id then  -- another server may have lost versions that viewers have seen
    epoch, version = ARGV[10], '0'
    call('DEL', log_key)
  end
  version = text(tonumber(version) + 1)
  call('HSET', meta_key, 'epoch', epoch, 'version', version, 'run_id', run_id, 'filled', '1')
  if live then
    local event = format('{"epoch":"%s","version":%s,"rows":[%s]}', epoch, version, table.concat(rows, ','))
    call('XADD', log_key, 'MAXLEN', '~', ARGV[9], '*', 'e', event)
    call('PUBLISH', ARGV[11], event)
  end
end
return {'done', position, epoch, version, text(saturated), table.concat(codes, ' '), table.concat(rows, ',')}
