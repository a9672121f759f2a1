"""The metrics of a node, for Prometheus: `--metrics HOST:PORT`.

Without the option nothing is counted. With it, requests pass through `MeasuredDispatcher`, which adds to plain
integers. What the node knows anyway (logs, groups, quorum, connections) is read for each scrape, in slices between
which clients are served.
"""
