"""`kafka-configs`."""
