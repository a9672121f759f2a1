"""Coordinators as pure state machines: request + state -> records + response.

A coordinator is a set of shards, one per partition of an internal topic. A shard decides from its own memory, the
request and the time it is told; it never waits, reads a clock, or touches a socket or file. What it wants written comes
out as records; the shell appends them to the shard's partition and tells the shard when they are committed. The
memory of a shard is rebuilt from those records alone, so it can move to whichever broker leads the partition.
"""
