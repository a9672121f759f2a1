"""Producers and consumers with default settings, of Java's client and of librdkafka: what their applications hear.

They say `acknowledged` for each delivery report and `read` for what they poll; and `error` for whatever an application
would have to deal with.
"""

import os
import sys
from collections.abc import Sequence

from harness.agents import SOURCES
from harness.clients.java_client import compiled_agent
from harness.java import java
from harness.workers import Worker


def default_clients(bootstrap: str, kind: str) -> Worker:
    """A producer and a consumer of a topic that is named after their kind, "java" or "confluent"."""
    command: Sequence[str]
    if kind == "java":
        command = java("DefaultClients", bootstrap, kind, classes=(compiled_agent(),))
    else:
        command = [sys.executable, str(SOURCES / "confluent_default_clients.py"), bootstrap, kind]
    return Worker(lambda _: command, os.environ)
