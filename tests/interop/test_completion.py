"""Completion of `ottla` in real shells, with names from a running server."""

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.servers import Server

BIN = Path(sys.executable).parent
BASH = """
source <(ottla completion bash)
COMP_LINE=$1; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
_python_argcomplete ottla
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = "ottla completion fish | source; complete -C $argv[1]"
ZSH = "autoload -U compinit; compinit -u -D; source <(ottla completion zsh); PS1=; print -r -- RE''ADY\n"

Offered = Callable[[str], list[str]]


def environment(server: Server | None = None) -> dict[str, str]:
    found = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "TERM": "dumb", "OTTLA_COMPLETION_TIMEOUT_MS": "60000"}
    return found if server is None else found | {"OTTLA_BOOTSTRAP_SERVERS": server.bootstrap}


def need(shell: str) -> str:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    return path


@pytest.fixture(params=["bash", "fish"])
def offered(request: pytest.FixtureRequest, server: Server) -> Offered:
    """What a shell offers for a line."""
    shell = need(request.param)

    def ask(line: str) -> list[str]:
        script = [BASH, "bash"] if request.param == "bash" else [FISH]
        command = [shell, "-c", *script, line]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=environment(server))
        assert done.stderr == ""
        return [row.split("\t")[0].strip() for row in done.stdout.splitlines() if row.strip()]

    return ask


def test_commands_verbs_options_and_choices_are_offered(offered: Offered) -> None:
    assert {"topics", "consume", "completion"} <= set(offered("ottla "))
    assert offered("ottla topi") == ["topics"]
    assert sorted(offered("ottla topics de")) == ["delete", "describe"]
    assert "--skip-corrupt" in offered("ottla consume --")
    assert sorted(offered("ottla -o json topics list -o j")) == ["json", "jsonl"]


def test_apaches_tools_are_offered_with_their_options(offered: Offered) -> None:
    assert offered("ottla kafka-top") == ["kafka-topics"]
    assert "--replication-factor" in offered("ottla kafka-topics --r")
    assert offered("ottla kafka-consumer-groups --bootst") == ["--bootstrap-server"]


def test_topics_and_groups_of_the_cluster_are_offered(
    offered: Offered, server: Server, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    topic, group = new_topic(), fresh_name()
    reset = [
        sys.executable,
        "-m",
        "ottla.cli.main",
        "groups",
        "reset",
        group,
        "--topic",
        topic,
        "--to",
        "0",
        "--execute",
    ]
    subprocess.run(reset, check=True, capture_output=True, timeout=60, env=environment(server))
    assert offered(f"ottla topics describe {topic[:-1]}") == [topic]
    assert offered(f"ottla consume {topic[:-1]}") == [topic]
    assert offered(f"ottla configs describe topics {topic[:-1]}") == [topic]
    assert offered(f"ottla kafka-topics --bootstrap-server {server.bootstrap} --describe --topic {topic[:-1]}") == [
        topic
    ]
    assert group in offered(f"ottla groups describe {group[:-1]}")
    assert offered(f"ottla -b 127.0.0.1:1 topics describe {topic[:-1]}") == [], "nobody is there, and nothing is said"


@contextmanager
def zsh(server: Server, home: Path) -> Iterator[Callable[[str, str], None]]:
    """Keys for an interactive zsh, and what must then be on the screen."""
    master, slave = pty.openpty()
    settings = environment(server) | {"HOME": str(home), "ZDOTDIR": str(home)}
    with subprocess.Popen([need("zsh"), "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, env=settings) as process:
        os.close(slave)

        def type_in(keys: str, expected: str) -> None:
            os.write(master, keys.encode())
            screen = ""
            while expected not in screen:
                screen += os.read(master, 4096).decode(errors="replace")

        try:
            yield type_in
        finally:
            process.kill()
            os.close(master)


@pytest.mark.timeout(120)
def test_zsh_completes_what_is_typed(server: Server, new_topic: Callable[..., str], tmp_path: Path) -> None:
    topic = new_topic()
    with zsh(server, tmp_path) as type_in:
        type_in(ZSH, "READY")
        type_in("ottla topi\t", "ottla topics ")
        type_in("descr\t", "describe ")
        type_in(f"{topic[:-1]}\t", topic)
