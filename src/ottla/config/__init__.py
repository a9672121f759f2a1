"""Configuration under Kafka's names: definitions, files, static values and their dynamic overrides."""
