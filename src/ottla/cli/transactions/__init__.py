"""`ottla transactions`."""
