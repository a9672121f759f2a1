"""`ottla leaders`."""
