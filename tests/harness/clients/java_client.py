"""The Java client of Apache Kafka 4.3, and Kafka's tools in the same JVM."""

import atexit
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.agents import SOURCES, Agent
from harness.clients.contract import Feature
from harness.clients.remote import RemoteClient
from harness.java import class_path, java


@cache
def compiled_agent() -> Path:
    classes = Path(tempfile.mkdtemp(prefix="ottla-java-agent-"))
    atexit.register(shutil.rmtree, classes, ignore_errors=True)
    sources = sorted(map(str, (SOURCES / "java").glob("*.java")))
    subprocess.run(["javac", "-nowarn", "-cp", class_path(), "-d", str(classes), *sources], check=True)
    return classes


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command line tool left."""

    code: int
    out: str
    err: str


class JavaClient(RemoteClient):
    name = "java"
    features = frozenset(Feature)

    def start_agent(self) -> Agent:
        return Agent(java("Agent", self.bootstrap, classes=(compiled_agent(),)))

    def tool(self, main: str, *arguments: str, stdin: str = "") -> Printed:
        """Runs the main class of a tool, as its script in Kafka's bin directory would."""
        return Printed(**self.agent.call("tool", main=main, args=arguments, stdin=stdin))
