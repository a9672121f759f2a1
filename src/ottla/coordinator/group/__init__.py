"""Consumer groups of the classic protocol and their committed offsets, kept in `__consumer_offsets`."""
