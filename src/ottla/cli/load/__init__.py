"""Load on a cluster, and how it took it: produced, consumed, and from end to end."""
