"""`kafka-verifiable-producer` and `kafka-verifiable-consumer`."""
