"""`ottla pipeline`: Spark jobs, and copies of topics, from the command line."""
