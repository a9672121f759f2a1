"""Parts of a simulated host: each takes the place of a real one, repeats exactly, and can fail on demand."""
