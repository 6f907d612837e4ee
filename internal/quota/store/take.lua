-- Takes requests and a slot of one user, or refuses: all of it or nothing, in
-- one step for all replicas. It is quota.Take and State.Settle once more, by the
-- clock of the store, and a test compares them.
--
-- KEYS[1]  a hash: s1 u1 s2 u2 s3 u3 are the windows' starts and counts, next is
--          State.Next, and r:<replica> has "calls streams expiry" of a replica.
-- KEYS[2]  the marker, see beat.lua
-- ARGV     1 requests, 2-4 limits of the windows, 5 burst, 6 interval,
--          7 replica, 8-9 its calls and streams, with those that are asked for,
--          10-11 limits of those, 12 what is asked for: 0, 1 a call, 2 a stream,
--          13 how long the replica's numbers hold, 14 the marker that it knows,
--          15 on, if the replica was on its own: for each window the start and
--          the count that it saw, the start and the count of its debt.
-- Times are in microseconds. Returns refused, wait, now, the windows, next; or
-- -1 and nothing else, having done nothing, if the marker is another.
if redis.call('GET', KEYS[2]) ~= ARGV[14] then return {-1} end
local spans = {60000000, 3600000000, 86400000000}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local arg = {}
for i, v in ipairs(ARGV) do arg[i] = tonumber(v) or 0 end
local n, burst, interval, want = arg[1], arg[5], arg[6], arg[12]

local known, others, gone = {}, {0, 0}, {}
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do
  local name, value = flat[i], flat[i + 1]
  if name:sub(1, 2) ~= 'r:' then
    known[name] = tonumber(value)
  elseif name ~= 'r:' .. ARGV[7] then
    local calls, streams, expiry = value:match('^(%d+) (%d+) (%d+)$')
    if expiry and tonumber(expiry) > now then
      others[1], others[2] = others[1] + calls, others[2] + streams
    else
      gone[#gone + 1] = name
    end
  end
end

local starts, used = {}, {}
for i = 1, 3 do
  starts[i], used[i] = known['s' .. i] or 0, known['u' .. i] or 0
  if arg[15] then
    local at = 11 + 4 * i
    for _, seen in ipairs({{arg[at], arg[at + 1]}, {arg[at + 2], 0}}) do
      if now < seen[1] + spans[i] then
        if now >= starts[i] + spans[i] then
          starts[i], used[i] = seen[1], seen[2]
        elseif starts[i] == seen[1] then
          used[i] = math.max(used[i], seen[2])
        elseif starts[i] > seen[1] then
          starts[i], used[i] = seen[1], used[i] + seen[2]
        end
      end
    end
    if now < arg[at + 2] + spans[i] then used[i] = used[i] + arg[at + 3] end
  end
  if now >= starts[i] + spans[i] then starts[i], used[i] = now, 0 end
  starts[i] = math.min(starts[i], now)
end
local next = math.min(math.max(known.next or 0, now), now + (burst + arg[2]) * interval)

local refused, wait = 0, 0
if want > 0 and others[want] + arg[7 + want] > arg[9 + want] then
  refused = 4 + want
elseif n > 0 then
  for i = 1, 3 do
    local left = starts[i] + spans[i] - now
    if used[i] + n > arg[1 + i] and left > wait then refused, wait = i, left end
  end
  local over = next + (math.min(n, burst) - burst) * interval - now
  if over > wait then refused, wait = 4, over end
end
local held = {arg[8], arg[9]}
if refused == 0 then
  if n > 0 then
    for i = 1, 3 do used[i] = used[i] + n end
    next = next + n * interval
  end
elseif want > 0 then
  held[want] = held[want] - 1
end

local function text(x) return string.format('%.0f', x) end
local fields = {'next', text(next)}
for i = 1, 3 do
  fields[#fields + 1] = 's' .. i
  fields[#fields + 1] = text(starts[i])
  fields[#fields + 1] = 'u' .. i
  fields[#fields + 1] = text(used[i])
end
local mine = 'r:' .. ARGV[7]
if held[1] + held[2] > 0 then
  fields[#fields + 1] = mine
  fields[#fields + 1] = text(held[1]) .. ' ' .. text(held[2]) .. ' ' .. text(now + arg[13])
else
  gone[#gone + 1] = mine
end
redis.call('HSET', KEYS[1], unpack(fields))
if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone)) end
-- A day and an hour: longer than any window.
redis.call('EXPIRE', KEYS[1], 90000)
return {refused, wait, now, starts[1], used[1], starts[2], used[2], starts[3], used[3], next}
