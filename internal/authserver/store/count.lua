-- Forgets the ends that have come. KEYS: the ends of a kind. Returns how many it
-- has forgotten, and how many are left.
local now = redis.call('TIME')
local over = redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now[1] * 1000 + math.floor(now[2] / 1000))
return {over, redis.call('ZCARD', KEYS[1])}
