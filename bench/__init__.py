"""Apache Kafka and Ottla side by side, on one machine and under the same load: `make bench`.

    PYTHONPATH=tests python -m bench [--rounds 5] [--rows produce-1k,start] [--servers ottla,floor] [--scale 0.01]
                                     [--fresh]

Rows that produce are measured on the floor as well, a server of ours that does the least possible: see `bench.floor`.

How it is kept fair. Load rows: both servers are up, and one is loaded at a time; rounds alternate, and the order turns
around each round; two warm-up rounds that are not counted come first, because a JVM that has not compiled its hot code
yet costs several times as much. Rows about starting and memory have one server up at a time. Before each measurement
everything dirty is written to the disk, so that nobody pays for what another one wrote. Medians are shown with the
lowest and the highest round. CPU is read from /proc, of the server and its children alone.

Each measurement goes to build/bench/results.json at once. A run adds the rounds that are missing, so an interrupted run
goes on where it stopped; --fresh forgets what the chosen rows had. docs/benchmarks.md and its plots are made from that
file. --scale makes everything smaller, to try things out: such results go to a file of their own and not into the page.
Nothing here is asserted by any test. bench/log_append.py beside it looks at the log alone.
"""
