"""The Java client of Apache Kafka 4.3, and Kafka's tools in the same JVM."""

import subprocess
import tempfile
from functools import cache
from pathlib import Path

from harness.agents import SOURCES, Agent
from harness.clients.contract import Feature
from harness.clients.remote import RemoteClient
from harness.java import class_path, java


@cache
def compiled_agent() -> Path:
    classes = Path(tempfile.mkdtemp(prefix="ottla-java-agent-"))
    sources = sorted(map(str, (SOURCES / "java").glob("*.java")))
    subprocess.run(["javac", "-nowarn", "-cp", class_path(), "-d", str(classes), *sources], check=True)
    return classes


class JavaClient(RemoteClient):
    name = "java"
    features = frozenset(Feature)

    def start_agent(self) -> Agent:
        return Agent(java("Agent", self.bootstrap, classes=(compiled_agent(),)))
