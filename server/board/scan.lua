-- Reads one page of a board by ZSCAN as two texts, which a client takes apart far sooner than thousands of replies.
--
-- KEYS   1 board ZSET
-- ARGV   1 cursor ('0' at the start)   2 players in a page, about
-- reply  {cursor, members, scores}: members and scores with a space between, as Redis writes them;
--        cursor '0': this was the last page
--
-- Only reads: called by EVAL_RO with its text, so there is no hash for a server to forget.

local page = redis.call('ZSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local rows, members, scores = page[2], {}, {}
for i = 1, #rows, 2 do
  members[#members + 1] = rows[i]
  scores[#scores + 1] = rows[i + 1]
end
return {page[1], table.concat(members, ' '), table.concat(scores, ' ')}
