"""A node reads no clock, draws no number, starts no thread and opens no file but through its host.

What gets past the host cannot be repeated by the simulator: a run that fails there would not fail a second time.
Metrics only measure, and are no part of a simulation.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tidy.test_style import ROOT, tracked

BROKER = ROOT / "src" / "ottla" / "broker"
# The host itself, and what it stands on; the format tool runs without a node; the process around a node.
FREE = {"host.py", "network/listening_socket.py", "disks/storage_format.py"}
BANNED_MODULES = {"time", "random", "secrets"}
BANNED_NAMES = {
    "Thread",
    "Timer",
    "ThreadPoolExecutor",
    "ProcessPoolExecutor",
    "OsFileSystem",
    "random_uuid",
    "uuid4",
    "statvfs",
}


def breaches(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name in BANNED_MODULES]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module in BANNED_MODULES else []
            names += [alias.name for alias in node.names if alias.name in BANNED_NAMES]
        elif isinstance(node, ast.Attribute) and node.attr in BANNED_NAMES:
            value = node.value
            # A method of the host has the name of what it replaces.
            if isinstance(value, ast.Name) and value.id in ("uuid", "os", "threading"):
                names = [node.attr]
        for name in names:
            yield f"{path.relative_to(BROKER)}:{getattr(node, 'lineno', 0)}: {name}"


def test_the_broker_reaches_its_machine_through_its_host_alone() -> None:
    found = [
        breach
        for path in tracked("src/ottla/broker/*.py")
        if str(path.relative_to(BROKER)) not in FREE and "metrics" not in path.parts
        for breach in breaches(path)
    ]
    assert found == []
