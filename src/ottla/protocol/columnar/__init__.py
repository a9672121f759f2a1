"""Many record batches at once, as columns of numbers (NumPy): for code that looks at every record.

The broker's own process looks at none, and imports nothing of this.
"""
