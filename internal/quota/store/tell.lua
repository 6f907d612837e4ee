-- Notes the calls and streams of a replica that one user has in flight.
-- KEYS[1]  the user's hash, see take.lua
-- ARGV     1 replica, 2 calls, 3 streams, 4 how long that holds, in microseconds
local name = 'r:' .. ARGV[1]
if ARGV[2] + ARGV[3] == 0 then return redis.call('HDEL', KEYS[1], name) end
local time = redis.call('TIME')
local expiry = string.format('%.0f', time[1] * 1000000 + time[2] + ARGV[4])
redis.call('HSET', KEYS[1], name, ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. expiry)
return redis.call('EXPIRE', KEYS[1], 90000)
