"""Reading the files of a log directory for people: segments, indexes, snapshots, and what their records say.

Nothing here writes, locks or repairs: it works on the directory of a running node and on what a crash has left.
"""
