"""Ctrl-C in the middle of a change to a local cluster: what is left in which state, and what goes on from there."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ottla.cli.exits import CommandError, ExitCode

if TYPE_CHECKING:
    from ottla.config.cluster_layout import NodeLayout


@dataclass(slots=True)
class Progress:
    """How far a command is: the nodes that it has told to end, and what the user may do if it ends here."""

    remedy: str
    stopping: "Sequence[NodeLayout]" = field(default_factory=tuple)


@contextmanager
def telling_what_is_left(root: Path, progress: Progress) -> Iterator[None]:
    """Ctrl-C becomes an error that tells it, with the exit code of Ctrl-C."""
    from ottla.cli.cluster.local import cluster_directory, node_processes

    try:
        yield
    except KeyboardInterrupt:
        nodes = cluster_directory.read(root)[1] if cluster_directory.exists(root) else ()
        running = node_processes.running_nodes(nodes)
        stopping = {node.node_id for node in progress.stopping}
        text = f"interrupted. {left_over([node.node_id for node in nodes], running.keys(), stopping)}"
        raise CommandError(text, ExitCode.INTERRUPTED, progress.remedy) from None


def left_over(nodes: Sequence[int], running: Collection[int], stopping: Collection[int]) -> str:
    """The state of the nodes in a sentence."""
    if not nodes:
        return "Nothing runs yet"
    parts = (
        ([node for node in nodes if node in running and node not in stopping], "runs or starts", "run or start"),
        ([node for node in nodes if node in running and node in stopping], "is stopping", "are stopping"),
        ([node for node in nodes if node not in running], "does not run", "do not run"),
    )
    said = [
        f"node {', '.join(map(str, named))} {one if len(named) == 1 else several}"
        for named, one, several in parts
        if named
    ]
    text = "; ".join(said)
    return text[0].upper() + text[1:]
