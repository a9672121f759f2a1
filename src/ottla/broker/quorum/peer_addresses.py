"""Where the other voters listen. Pure: it decides which address to try, and opens nothing.

The voters name their addresses when the quorum is formatted (KIP-853), or the settings do (controller.quorum.voters). A
node may have moved since, so an address that a peer tells, in a response or when it begins its epoch, comes first. It
is only hearsay: if nobody can be reached there, the next attempt goes to the address of the voter set again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ottla.broker.quorum.wire import NodeAddress
from ottla.client.addresses import Address
from ottla.raft import VoterEndpoint, VoterSet

# Bootstrap servers have no ids that anybody knows: they get negative ones, below -1, which means no node at all.
FIRST_BOOTSTRAP_ID: Final = -2


class PeerAddresses:
    def __init__(self, listener_names: Sequence[str], bootstrap: Sequence[Address] = ()) -> None:
        """`listener_names` are those of controllers, the preferred one first."""
        self._listener_names = listener_names
        self._bootstrap = {FIRST_BOOTSTRAP_ID - index: address for index, address in enumerate(bootstrap)}
        self._told: dict[int, Address] = {}

    @property
    def bootstrap_ids(self) -> tuple[int, ...]:
        return tuple(self._bootstrap)

    def of(self, node_id: int, voters: VoterSet) -> Address | None:
        """Where to reach a node; None if nobody knows."""
        if (known := self._bootstrap.get(node_id)) is not None:
            return known
        if (told := self._told.get(node_id)) is not None:
            return told
        endpoints = next((voter.endpoints for voter in voters.voters if voter.key.id == node_id), ())
        return self.choose(endpoints)

    def choose(self, endpoints: Sequence[VoterEndpoint]) -> Address | None:
        """The endpoint of the listener that comes first in this node's own settings, else the first one."""
        by_name = {endpoint.name: endpoint for endpoint in reversed(endpoints)}
        known = (by_name[name] for name in self._listener_names if name in by_name)
        chosen = next(known, endpoints[0] if endpoints else None)
        return None if chosen is None else Address(chosen.host, chosen.port)

    def learn(self, told: Iterable[NodeAddress]) -> None:
        for node in told:
            if node.host and node.port > 0:
                self._told[node.node_id] = Address(node.host, node.port)

    def forget(self, node_id: int, address: Address) -> None:
        """Nobody could be reached at this address."""
        if self._told.get(node_id) == address:
            del self._told[node_id]
