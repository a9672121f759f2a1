"""`ottla perf`: loads, and what they measure."""
