"""Three nodes of Apache Kafka and three of Ottla, one cluster at a time and under the same load: `make bench-cluster`.

    PYTHONPATH=tests python -m bench.cluster [--rounds 2] [--rows produce-100b,killed] [--servers ottla] [--scale 0.1]
                                             [--fresh]

Every node is broker and controller. Topics have three replicas, `min.insync.replicas` is 2, and producers ask for
acks=all; all other settings are the defaults of either server.

How it is kept fair. Six servers would disturb each other on a small machine, so that a cluster comes up, is measured
in every row, and goes before the next one comes: a turn. A round is a turn of each, and the order changes with every
round. Loads come first in a turn: each is run once or twice without being counted, because a JVM that has not
compiled its hot code yet costs several times as much, then measured twice. Rows that kill, freeze and stop nodes come
after that, and those about many partitions last. Before each measurement everything dirty is written to the disk. CPU
and memory are read from /proc, and summed over the three nodes.

Each measurement goes to build/bench/cluster.json at once, and a run adds what is missing, as in `make bench`.
docs/benchmarks-cluster.md and its plot are made from that file. Nothing here is asserted by any test.
"""
