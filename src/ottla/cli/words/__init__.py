"""What people write on a command line: times, partitions, topics, settings, offsets, releases."""
