"""Every broker config of Kafka 4.3, one module per concern."""
