-- Sends the requests of a file that the harness wrote, in an order drawn from a fixed seed, and reports as one JSON line.
--
--   wrk -s load.lua URL -- BODIES MODE SALT
--
-- BODIES  first line: the operation; second: how often MARK stands in a right answer (-1: not counted), a tab, and a Lua
--         pattern that every right answer matches; third: header lines, separated by tabs; then one request a line:
--         what its answer must contain, a tab, the body.
-- MODE    "check" looks into every answer (needs one connection for the "must contain"), "check-shared" the same for
--         more connections, "time" leaves wrk alone: it counts statuses itself and no answer is copied into Lua.
-- SALT    replaces FRESH in a body, with a counter behind it: keys that no earlier run has used.
--
-- All requests are built here in init, so that request() only hands out strings: the generator must not be what is measured.

local MARK = '"note"'
local FRESH = "@@@@@@@@@@@@@@@@@@@@" -- salt of 10 characters, counter of 10 digits
local requests, musts, order = {}, {}, {}
local heads, tails = {}, {}
local position, last = 0, 0
local mode, salt, marks, pattern
answers, wrong, first_wrong = 0, 0, "" -- global: done() runs in another Lua state, which reads them by name
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

local function headers_of(line, operation)
  local headers = { ["X-Amz-Target"] = "DynamoDB_20120810." .. operation }
  for name, value in line:gmatch("([^\t:]+): ([^\t]+)") do
    headers[name] = value
  end
  return headers
end

-- Numerical Recipes' generator: the same order on every machine, whatever its C library's rand is.
local function shuffled(count)
  local state = 20120810
  for i = 1, count do order[i] = i end
  for i = count, 2, -1 do
    state = (state * 1664525 + 1013904223) % 4294967296
    local j = 1 + math.floor(state / 4294967296 * i)
    order[i], order[j] = order[j], order[i]
  end
end

function init(args)
  mode, salt = args[2], args[3]
  local file = assert(io.open(args[1], "rb"))
  local operation = file:read("*l")
  local count, wanted = file:read("*l"):match("^(%S+)\t(.*)$")
  marks, pattern = tonumber(count), wanted
  local headers = headers_of(file:read("*l"), operation)
  for line in file:lines() do
    local tab = line:find("\t", 1, true)
    local request = wrk.format("POST", "/", headers, line:sub(tab + 1))
    local fresh, fresh_end = request:find(FRESH, 1, true)
    if fresh then
      heads[#heads + 1] = request:sub(1, fresh - 1) .. salt
      tails[#tails + 1] = request:sub(fresh_end + 1)
    else
      musts[#musts + 1] = line:sub(1, tab - 1)
      requests[#requests + 1] = request
    end
  end
  file:close()
  shuffled(math.max(#requests, #heads))
  if mode == "time" then response = nil end
  if #heads > 0 then request = fresh_request end
end

function request()
  position = position % #order + 1
  last = order[position]
  return requests[last]
end

local drawn = 0
function fresh_request()
  drawn = drawn + 1
  position = position % #order + 1
  last = order[position]
  -- An odd multiplier modulo a power of two: every counter gives another key, and they come in no order.
  return heads[last] .. string.format("%010d", drawn * 1103515245 % 2147483648) .. tails[last]
end

function response(status, headers, body)
  answers = answers + 1
  local right = status == 200 and body:find(pattern) ~= nil
  if right and marks >= 0 then
    local _, found = body:gsub(MARK, MARK)
    right = found == marks
  end
  if right and mode == "check" and musts[last] and musts[last] ~= "" then
    right = body:find(musts[last], 1, true) ~= nil
  end
  if not right then
    wrong = wrong + 1
    if first_wrong == "" then first_wrong = status .. " " .. body:sub(1, 160) end
  end
end

local function quoted(text)
  return '"' .. text:gsub('[%c\128-\255]', "?"):gsub('[\\"]', "\\%0") .. '"'
end

function done(summary, latency, _)
  local sum_answers, sum_wrong, example = 0, 0, ""
  for _, thread in ipairs(threads) do
    sum_answers = sum_answers + thread:get("answers")
    sum_wrong = sum_wrong + thread:get("wrong")
    if example == "" then example = thread:get("first_wrong") end
  end
  local errors = summary.errors
  io.write(string.format(
    'FIGURE {"requests":%d,"seconds":%.6f,"bytes":%d,"bad_statuses":%d,"socket_errors":%d,"timeouts":%d,'
      .. '"answers_checked":%d,"answers_wrong":%d,"example":%s,"p50_ms":%.4f,"p99_ms":%.4f}\n',
    summary.requests, summary.duration / 1e6, summary.bytes, errors.status,
    errors.connect + errors.read + errors.write, errors.timeout,
    sum_answers, sum_wrong, quoted(example), latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
