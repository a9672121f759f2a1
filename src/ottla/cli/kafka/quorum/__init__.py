"""`kafka-metadata-quorum`, `kafka-features` and `kafka-broker-api-versions`."""
