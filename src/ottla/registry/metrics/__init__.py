"""The metrics of a registry, for Prometheus: `ottla registry --metrics HOST:PORT`.

Without the option nothing is counted. With it, requests pass through `MeasuredApp`, which adds to plain integers; the
rest is read from the instance for each scrape.
"""
