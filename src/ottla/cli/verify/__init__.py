"""`ottla verify`."""
