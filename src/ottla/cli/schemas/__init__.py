"""`ottla schemas`: what a schema registry has, and changing it."""
