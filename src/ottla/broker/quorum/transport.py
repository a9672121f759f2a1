"""How raft's messages leave a node.

There is no network between nodes yet, so the only transport is that of a lone voter, which has no peers. It is the one
place that refuses a quorum of several voters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ottla.raft import ReplicaKey, VoterSet
from ottla.raft.ready import Message


class UnusableQuorum(Exception):
    """This node must not run with its metadata directory; the message says why and what to do."""


class Transport(Protocol):
    """Carries messages to other nodes. Their answers and requests come in through `MetadataLog.receive`."""

    def check(self, local: ReplicaKey, voters: VoterSet) -> None:
        """UnusableQuorum if these voters cannot be reached."""

    def send(self, messages: Sequence[Message]) -> None:
        """Sends messages without waiting. All that they promise is durable."""


class NoPeers:
    """The transport of a lone voter."""

    def check(self, local: ReplicaKey, voters: VoterSet) -> None:
        if not voters.is_only(local):
            raise UnusableQuorum(
                f"the quorum's voters are {', '.join(map(str, voters.ids))}; this release runs with one voter, "
                f"this node ({local.id})"
            )

    def send(self, messages: Sequence[Message]) -> None:
        raise RuntimeError(f"there is no network between nodes, but there is something to send: {list(messages)}")
