"""`kafka-transactions`."""
