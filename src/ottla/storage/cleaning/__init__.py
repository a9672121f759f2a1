"""One pass over a compacted log: what a worker process reads, decides and writes."""
