"""Whole nodes and their clients in one process, under simulated time, on simulated disks and a simulated network.

`loop` is the event loop that makes time pass, `network` what connects programs, `disk` what survives them, `host` the
machine under one program. A run depends on its seed alone: who finds a failure can repeat it.
"""
