"""The schema registry: Confluent's REST API over a topic.

Below is no IO. Records of `_schemas` make a state (`records`, `stored_schema`, `state`); a request and a state make the
records to be written and the answer (`registration`, `deletion`, `setting_changes`).
"""
