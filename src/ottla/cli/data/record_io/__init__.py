"""Records between a cluster and a terminal: where to read, how to write them out, how to read them in."""
