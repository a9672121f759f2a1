"""`ottla cluster`."""
