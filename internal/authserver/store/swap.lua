-- Replaces a value. KEYS: the entry, the ends of its kind. ARGV: the new value,
-- for how many milliseconds, the entry's name among its kind, the old value.
-- Returns 1, or 0 where there was none or another one.
if redis.call('GET', KEYS[1]) ~= ARGV[4] then
	return 0
end
local left = tonumber(ARGV[2])
if left > 0 then
	local now = redis.call('TIME')
	redis.call('SET', KEYS[1], ARGV[1], 'PX', left)
	redis.call('ZADD', KEYS[2], now[1] * 1000 + math.floor(now[2] / 1000) + left, ARGV[3])
else
	redis.call('DEL', KEYS[1])
	redis.call('ZREM', KEYS[2], ARGV[3])
end
return 1
