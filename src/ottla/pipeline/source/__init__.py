"""Topics as DataFrames to read: `format("ottla")`, batch and streaming."""
