"""The disks of a node: its directories, the threads that wait for them, and what is done to logs now and then."""
