-- What the other scripts end with: the figures in one line.

function done(summary, latency, _)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  print(string.format("measured %d %d %f %d", summary.requests, summary.duration, latency:percentile(99), failed))
end
