"""Spark's own Kafka connector and Ottla's beside each other, on Apache Kafka and on Ottla: `make bench-pipeline`.

    PYTHONPATH=tests python -m bench.pipeline [--rounds 5] [--rows copy] [--servers ottla] [--scale 0.01] [--fresh]

How it is kept fair. Each contender has a Spark driver of its own, a process with its JVM and its Python workers, all
with the same settings on local[2]; they stay up, and one at a time is asked for a query. So rounds alternate, CPU and
memory are the contender's own, and every JVM is warm: each row begins with a round that is not counted. All contenders
read the same topics. Rates of streams are those of their micro-batches, without the start of the query, which is shown
beside them. CPU is read from /proc, of the driver with its children and of the broker; memory is PSS, looked at while
the query runs.

Results, rounds and trials are as in `bench`: build/bench/pipeline.json, and docs/benchmarks-pipeline.md made from it.
"""
