"""Apicurio's registry and Ottla's, under the same requests of Confluent's API: `make bench-registry`.

    PYTHONPATH=tests python -m bench.registry [--rounds 3] [--rows reads,start] [--scale 0.1] [--fresh]

Both keep their schemas in a topic of one Ottla node; Apicurio is measured once more with its schemas in memory alone,
which is the least that it can do. Requests come from wrk, over connections that stay.

How it is kept fair. All registries are up and one is loaded at a time, in alternating rounds after warm-ups that are
not counted, because a JVM that has not compiled its hot code yet costs several times as much. For starts one registry
is up at a time. CPU and memory are the registry's own, from /proc; what the node does for it is not in them.

Each measurement goes to build/bench/registry.json at once, and a run adds what is missing, as in `make bench`.
docs/benchmarks-registry.md and its plots are made from that file. Nothing here is asserted by any test.
"""
