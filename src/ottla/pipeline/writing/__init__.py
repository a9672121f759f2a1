"""What everything that writes rows into topics has in common; `sink` and `append` stand on it, not on each other."""
