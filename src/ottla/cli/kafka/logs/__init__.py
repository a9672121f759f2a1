"""`kafka-dump-log` and `kafka-log-dirs`."""
