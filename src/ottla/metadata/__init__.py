"""Cluster metadata: Kafka's own records, the immutable image that they build, and the controller's decisions."""
