-- Removes a value and returns it, or false. KEYS: the entry, the ends of its
-- kind. ARGV: the entry's name among its kind.
local value = redis.call('GET', KEYS[1])
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return value
