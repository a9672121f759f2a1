"""Test suites of other projects, run against Apache Kafka and Ottla, and the table of what passes where.

    PYTHONPATH=tests:tools python -m conformance [--servers kafka,ottla] [--only 0012,0081] [--missing] [--workers 2]

Each finished test goes to build/conformance/<server>.json at once, so that an interrupted run goes on with --missing;
docs/conformance.md is written from these files in the end. A test that fails is run again on a fresh server: both
servers get the same second chance, because the machine may be busy with something else.
"""
