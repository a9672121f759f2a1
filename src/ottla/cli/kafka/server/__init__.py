"""`kafka-storage`, `kafka-server-start` and `kafka-server-stop`."""
