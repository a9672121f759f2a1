"""What a cluster loses with each topic that it keeps for itself."""

from collections.abc import Iterable
from typing import Final

LOSSES: Final = {
    "__consumer_offsets": "the committed offsets of all groups: consumers begin again where auto.offset.reset says",
    "__transaction_state": "the states of all transactional ids: transactions that are open may never end, "
    "and what they wrote keeps readers of committed records waiting",
    "__share_group_state": "the positions and acknowledgements of all share groups",
    "__remote_log_metadata": "where segments are in remote storage: they cannot be read any more",
}


def warnings(names: Iterable[str]) -> list[str]:
    """A line for each of these topics that holds what the cluster itself knows."""
    return [f"{name} is an internal topic; with it go {LOSSES[name]}" for name in names if name in LOSSES]
