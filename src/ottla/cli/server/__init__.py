"""`ottla server`, and the servers that run on this machine."""
