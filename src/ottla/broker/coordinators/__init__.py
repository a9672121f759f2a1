"""What the shells of all coordinators share: their topic, its log, and the leadership of its partitions."""
