"""The disks of a node: its directories, the threads that wait for them, and the maintenance of logs."""
