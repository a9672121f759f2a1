"""What everything that writes rows into topics shares; `sink` and `append` use it, not each other."""
