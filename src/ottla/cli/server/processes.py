"""The server processes of this user, as the system's process table shows them."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MODULES: Final = ("ottla", "ottla.cli.main")
_INTERPRETERS: Final = ("python", "pypy")
_COMMANDS: Final = ("server", "kafka-server-start")
_PROC: Final = Path("/proc")


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server and the words after its command."""

    pid: int
    arguments: tuple[str, ...]


def server_arguments(command_line: Sequence[str]) -> tuple[str, ...] | None:
    """The words behind `ottla server` in a process's command line; None if it is no server."""
    for index, word in enumerate(command_line[:-1]):
        is_module = index > 0 and command_line[index - 1] == "-m" and word in _MODULES
        # A script of this name, run by itself or by Python: never a word of another program.
        is_run = index == 0 or (index == 1 and Path(command_line[0]).name.startswith(_INTERPRETERS))
        is_script = is_run and Path(word).name == "ottla"
        if (is_module or is_script) and command_line[index + 1] in _COMMANDS:
            return tuple(command_line[index + 2 :])
    return None


def running_servers() -> list[ServerProcess]:
    """Every server of this user but this process, by process id."""
    found = []
    for pid, command_line in _processes():
        arguments = server_arguments(command_line)
        if arguments is not None and pid != os.getpid():
            found.append(ServerProcess(pid, arguments))
    return sorted(found, key=lambda process: process.pid)


def server_properties(process: ServerProcess) -> dict[str, str] | None:
    """Read the server's configuration: its file as it is now, and the overrides; None if the file cannot be read."""
    from ottla.config.properties_file import load_properties
    from ottla.config.values import ConfigError

    given: dict[str, str] = {}
    words = [word for word in process.arguments if word != "-daemon"]
    if words and not words[0].startswith("-"):
        try:
            given.update(load_properties(_absolute(process.pid, words[0])))
        except (ConfigError, OSError):
            return None
    for index, word in enumerate(words):
        override = word.removeprefix("--override=") if word.startswith("--override=") else None
        if word == "--override" and index + 1 < len(words):
            override = words[index + 1]
        if override is not None:
            name, _, value = override.partition("=")
            given[name.strip()] = value.strip()
    return given


def _absolute(pid: int, name: str) -> Path:
    """Resolve a relative name in the directory that the process runs in, which only Linux shows."""
    path = Path(name)
    return path if path.is_absolute() or not _PROC.is_dir() else (_PROC / str(pid) / "cwd").readlink() / path


def _processes() -> Iterator[tuple[int, list[str]]]:
    if not (_PROC / "self" / "cmdline").exists():
        yield from _listed_processes()
        return
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if entry.stat().st_uid == os.getuid():
                words = (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                yield int(entry.name), words[:-1]
        except OSError:
            # It ended meanwhile.
            continue


def _listed_processes() -> Iterator[tuple[int, list[str]]]:
    command = ["ps", "-x", "-o", "pid=,command="]
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        pid, *words = line.split()
        yield int(pid), words
