-- Asks for schemas by their ids, one after the other: wrk ... -s reads.lua URL -- PATH ID,ID,...

local paths = {}
local asked = 0

function init(args)
  for id in args[2]:gmatch("%d+") do
    paths[#paths + 1] = args[1] .. "/schemas/ids/" .. id
  end
end

function request()
  asked = asked + 1
  return wrk.format("GET", paths[asked % #paths + 1])
end
