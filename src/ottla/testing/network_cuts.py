"""Which links of a cluster are cut, and how: what the nodes of an embedded cluster are told of it.

A link connects two nodes, or a node with its clients. Cuts add up until all of them are healed. A silent cut loses
packets: connections stay open, and nobody hears anything. It may do so in one direction alone. A reset ends the
connections and refuses new ones, as a firewall does that rejects.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

# The peer of a node that stands for all its clients; others are the ids of nodes, as text.
CLIENTS: Final = "clients"


@dataclass(frozen=True, slots=True)
class Cut:
    """What a node's end of a link suffers. A new connection needs both directions."""

    loses_sent: bool = False
    loses_received: bool = False
    is_reset: bool = False

    @property
    def is_open(self) -> bool:
        """Whether everything passes."""
        return not (self.loses_sent or self.loses_received or self.is_reset)

    def __or__(self, other: Cut) -> Cut:
        return Cut(
            self.loses_sent or other.loses_sent,
            self.loses_received or other.loses_received,
            self.is_reset or other.is_reset,
        )


OPEN: Final = Cut()


class NetworkCuts:
    """The cuts of one cluster. Each node's table has its end of every link that is cut, by peer."""

    def __init__(self) -> None:
        self._tables: dict[int, dict[str, Cut]] = {}

    def cut(
        self, nodes: Collection[int], others: Collection[int], *, clients: bool, one_way: bool, reset: bool
    ) -> None:
        """Cuts `nodes` from `others`, and with `clients` from clients too; one way, what `nodes` send is lost."""
        near = Cut(loses_sent=True, loses_received=not one_way, is_reset=reset)
        far = Cut(loses_sent=not one_way, loses_received=True, is_reset=reset)
        for node in nodes:
            for other in others:
                self._add(node, str(other), near)
                self._add(other, str(node), far)
            if clients:
                self._add(node, CLIENTS, near)

    def heal(self) -> None:
        """Heals every cut."""
        self._tables.clear()

    def table_of(self, node: int) -> dict[str, Cut]:
        """The ends of links that are cut at a node."""
        return dict(self._tables.get(node, {}))

    def _add(self, node: int, peer: str, cut: Cut) -> None:
        table = self._tables.setdefault(node, {})
        table[peer] = table.get(peer, OPEN) | cut


def to_json(table: Mapping[str, Cut]) -> dict[str, dict[str, bool]]:
    """A table, as it is sent to a node's process."""
    return {peer: asdict(cut) for peer, cut in table.items()}


def of_json(read: Mapping[str, Mapping[str, bool]]) -> dict[str, Cut]:
    """A table that `to_json` wrote."""
    return {peer: Cut(**fields) for peer, fields in read.items()}
