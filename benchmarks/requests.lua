-- The requests that wrk sends: wrk -s requests.lua URL -- KIND START
--
-- post, msgpack, get    a check of 3 or 4 shapes of rank 4 that fit, never the same twice
-- wide, wide-get        a check of 3 or 4 shapes of rank 3 and 4 with axes of size 1 at random, never the same twice
-- op                    one in JSON that names its op, by turns one of three frameworks', with attributes or without
-- conflict              one of 3 or 4 shapes that does not fit, and would with a reshape or two axes swapped
-- wide-conflict         one of wide and a shape with a size that fits none of the others
-- zipf                  one of 10,000 checks, the k-th of them 1 / k times as often as the first, under head fields that vary
-- again                 one check in the same bytes
-- refusal               a check with a field that does not exist
-- compare, translate    three or four shapes in every framework; a broadcast_to of numpy's in nGraph's words
-- rows                  a batch of ten checks of shapes that fit
--
-- START, from 1 to 2^31 - 2, is where the numbers begin that the sizes are made of. Each number leads to the next, and
-- all of them come before one comes again (the generator of Park and Miller), so two runs ask the same only where the
-- one begins within the other: checks.py lets them begin 2^20 numbers apart.

local REQUESTS = 10000
local number, text, packed = 1, {}, {}
for size = 0, 999 do
  text[size] = tostring(size)
  packed[size] = size < 128 and string.char(size)
    or size < 256 and "\204" .. string.char(size)
    or "\205" .. string.char(math.floor(size / 256), size % 256)
end

local function sizes()
  number = number * 16807 % 2147483647
  local rest = math.floor(number / 256)
  return number % 256 + 2, rest % 256 + 2, math.floor(rest / 256) % 256 + 2, math.floor(rest / 65536) + 2
end

local function fitting()
  local a, b, c, d = sizes()
  if number % 2 == 0 then
    return {{a, 1, c, 1}, {1, b, 1, d}, {a, b, c, d}}
  end
  return {{a, 1, c, 1}, {1, b, 1, d}, {a, b, c, d}, {1, 1, c, d}}
end

local function wide()
  local a, b, c, d = sizes()
  number = number * 16807 % 2147483647
  local full, shapes, bits = {a, b, c, d}, {}, number
  local function bit()
    local drawn = bits % 2
    bits = math.floor(bits / 2)
    return drawn == 1
  end
  for input = 1, bit() and 3 or 2 do
    local shape = {}
    for axis = bit() and 1 or 2, 4 do
      shape[#shape + 1] = bit() and full[axis] or 1
    end
    shapes[input] = shape
  end
  shapes[#shapes + 1] = full -- so that no request comes twice
  return shapes
end

local function conflicting()
  local a, b, c, d = sizes()
  d = d + 300 -- equal to no other
  if number % 2 == 0 then
    return {{a, b, c, d}, {1, b, 1, 1}, {b}}
  end
  return {{a, b, c, d}, {a, 1, c, d}, {1, b, 1, 1}, {a, b, d, c}}
end

local function wide_conflicting()
  local shapes, shape = wide(), {}
  local full, axis = shapes[#shapes], number % 4 + 1
  for place = axis, 4 do
    shape[#shape + 1] = place == axis and full[axis] + 300 or 1
  end
  table.insert(shapes, 1, shape)
  return shapes
end

local function joined(shapes, written, between)
  local parts = {}
  for input, shape in ipairs(shapes) do
    local part = {}
    for axis, size in ipairs(shape) do
      part[axis] = written[size]
    end
    parts[input] = table.concat(part, between)
  end
  return parts
end

local function post(body, media, further, path)
  return "POST " .. (path or "/v1/check") .. " HTTP/1.1\r\nHost: localhost\r\n" .. (further or "") .. "Content-Type: " .. media
    .. "\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body
end

local function json(shapes)
  return '{"inputs":[[' .. table.concat(joined(shapes, text, ","), "],[") .. "]]}"
end

local function msgpack(shapes)
  local parts = joined(shapes, packed, "")
  for input, shape in ipairs(shapes) do
    parts[input] = string.char(144 + #shape) .. parts[input]
  end
  return "\129\166inputs" .. string.char(144 + #shapes) .. table.concat(parts)
end

local function named()
  local a, b, c, d = sizes()
  local whole = table.concat({a, b, c, d}, ",")
  if number % 3 == 0 then
    local shapes = joined({{a, 1, c, 1}, {1, b, 1, d}, {a, b, c, d}}, text, ",")
    return '{"op":"torch.broadcast_tensors","inputs":[[' .. table.concat(shapes, "],[") .. "]]}"
  elseif number % 3 == 1 then
    return '{"op":{"name":"numpy.broadcast_to","shape":[' .. whole .. ']},"inputs":[[' .. b .. ",1," .. d .. "]]}"
  end
  local op = '{"name":"ngraph.Broadcast","shape":[' .. whole .. '],"broadcast_axes":[0,2]}'
  return '{"op":' .. op .. ',"inputs":[[' .. b .. "," .. d .. "]]}"
end

local function asked(body, path)
  return post(body, "application/json", nil, path)
end

local function translation()
  local a, b, c, d = sizes()
  local op = '{"name":"numpy.broadcast_to","shape":[' .. table.concat({a, b, c, d}, ",") .. "]}"
  return '{"op":' .. op .. ',"inputs":[[' .. b .. ",1," .. d .. ']],"to":"ngraph.Broadcast"}'
end

local function rows()
  local parts = {}
  for row = 1, 10 do
    parts[row] = json(fitting())
  end
  return '{"requests":[' .. table.concat(parts, ",") .. "]}"
end

local function get(shapes)
  local query = table.concat(joined(shapes, text, "x"), "&input=")
  return "GET /v1/check?input=" .. query .. " HTTP/1.1\r\nHost: localhost\r\n\r\n"
end

local function zipf()
  local bodies, upto, total = {}, {}, 0
  number = 1
  for k = 1, REQUESTS do
    bodies[k] = json(fitting())
    total = total + 1 / k
    upto[k] = total
  end
  local function hex(digits)
    return string.format("%0" .. digits .. "x", math.random(0, 16 ^ math.min(digits, 12) - 1))
  end
  return function()
    local drawn, low, high = math.random() * total, 1, REQUESTS
    while low < high do
      local middle = math.floor((low + high) / 2)
      if upto[middle] < drawn then low = middle + 1 else high = middle end
    end
    local further = "X-Request-ID: " .. hex(16) .. "\r\nX-Forwarded-For: 10.0.0." .. math.random(1, 254)
      .. "\r\ntraceparent: 00-" .. hex(32) .. "-" .. hex(16) .. "-01\r\n"
    return post(bodies[low], "application/json", further)
  end
end

local KINDS = {
  post = function() return post(json(fitting()), "application/json") end,
  msgpack = function() return post(msgpack(fitting()), "application/vnd.msgpack") end,
  get = function() return get(fitting()) end,
  wide = function() return post(json(wide()), "application/json") end,
  ["wide-get"] = function() return get(wide()) end,
  op = function() return post(named(), "application/json") end,
  conflict = function() return post(json(conflicting()), "application/json") end,
  ["wide-conflict"] = function() return post(json(wide_conflicting()), "application/json") end,
  refusal = function() return asked('{"shape":[3],' .. json(fitting()):sub(2)) end,
  compare = function() return asked(json(fitting()), "/v1/compare") end,
  translate = function() return asked(translation(), "/v1/translate") end,
  rows = function() return asked(rows(), "/v1/check/batch") end,
}

function init(args)
  local kind, start = args[1], tonumber(args[2])
  math.randomseed(start)
  if kind == "zipf" then
    request = zipf()
  elseif kind == "again" then
    local same = KINDS.post()
    request = function() return same end
  else
    number = start
    request = KINDS[kind]
  end
end
