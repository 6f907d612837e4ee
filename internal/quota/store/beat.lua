-- Tells that a replica is there, and returns how many are and the marker.
-- KEYS[1]  a sorted set of replicas by when they told so last, in seconds.
-- KEYS[2]  the marker: a random text that is there for as long as the counts are,
--          so that a store that has lost them is known by another one.
-- ARGV     1 the replica, 2 for how many seconds it counts, 3 a marker, for a
--          store without one
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('EXPIRE', KEYS[1], 3600)
redis.call('SET', KEYS[2], ARGV[3], 'NX')
-- As long as what it stands for.
redis.call('EXPIRE', KEYS[2], 90000)
return {redis.call('ZCARD', KEYS[1]), redis.call('GET', KEYS[2])}
