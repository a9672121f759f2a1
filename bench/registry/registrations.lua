-- Registers schemas that nobody has yet, each in a subject of its own: wrk ... -s registrations.lua URL -- PATH NAME

local path, name
local headers = { ["Content-Type"] = "application/vnd.schemaregistry.v1+json" }
local registered = 0
local schema = [[{"schema":"{\"type\":\"record\",\"name\":\"%s\",\"fields\":[]] ..
  [[{\"name\":\"id\",\"type\":\"long\"},{\"name\":\"customer\",\"type\":\"string\"},]] ..
  [[{\"name\":\"note\",\"type\":[\"null\",\"string\"],\"default\":null}]}"}]]

function init(args)
  path, name = args[1], args[2]
end

function request()
  registered = registered + 1
  local own = name .. "_" .. registered
  return wrk.format("POST", path .. "/subjects/" .. own .. "-value/versions", headers, schema:format(own))
end
