"""What all coordinators run on: their topic and its log, and the runtime of the shards in its partitions."""
