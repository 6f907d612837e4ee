-- Returns what stands under a key, after it was replaced by what a replica has
-- decided, if it is still what that replica has read. Nothing is decided here.
-- KEYS     1 what is read or replaced, 2 the marker: a random text that is there
--          for as long as the counts are, so that a store that has lost them is
--          known by another one.
-- ARGV     to read, none; to replace, 1 what was read, empty for nothing, 2 what
--          replaces it, 3 for how many seconds it is kept.
-- Returns  the time in microseconds, the marker, what was found, and whether it
--          was replaced: 1 or nothing.
local time = redis.call('TIME')
local found, replaced = redis.call('GET', KEYS[1]) or '', ''
if ARGV[2] and found == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
  redis.call('EXPIRE', KEYS[2], ARGV[3])
  replaced = '1'
end
return {time[1] .. string.format('%06d', time[2]), redis.call('GET', KEYS[2]) or '', found, replaced}
