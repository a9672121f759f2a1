"""`format("ottla")` as a sink: rows appended to topics, at least once, or a batch of them in one transaction."""
