"""Messages and log records of Apache Kafka 4.3.0, one module each; made by tools/generate_messages.py."""
