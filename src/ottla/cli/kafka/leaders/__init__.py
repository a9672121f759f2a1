"""`kafka-leader-election`."""
