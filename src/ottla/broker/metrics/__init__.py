"""What a node tells Prometheus about itself: `--metrics HOST:PORT`.

Nothing is counted unless somebody may look. With the switch, requests pass through `MeasuredDispatcher`, which adds to
plain integers; whatever the node knows anyway (logs, groups, quorum, connections) is read when a scraper comes, in
slices between which clients are served.
"""
