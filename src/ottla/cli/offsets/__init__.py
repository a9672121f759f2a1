"""`ottla offsets`."""
