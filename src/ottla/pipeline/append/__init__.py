"""DataFrames into topics through `format("ottla")`: appended, at least once, or a batch in one transaction."""
