"""`kafka-console-producer` and `kafka-console-consumer`."""
