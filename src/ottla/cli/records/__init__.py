"""`ottla records`."""
