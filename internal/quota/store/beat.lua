-- Tells that a replica is there, and returns how many are.
-- KEYS[1]  a sorted set of replicas by when they told so last, in seconds.
-- ARGV     1 the replica, 2 for how many seconds it counts
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('EXPIRE', KEYS[1], 3600)
return redis.call('ZCARD', KEYS[1])
