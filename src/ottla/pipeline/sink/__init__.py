"""DataFrames into topics, exactly once: one transaction for each micro-batch."""
