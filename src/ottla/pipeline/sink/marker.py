"""What says whether a batch is in the topic already: a marker that was committed together with its records. Pure.

Spark writes down which offsets a batch covers before the batch runs, and that it is done after it; a batch that it does
not know to be done runs again, under the same number and with the same offsets. The marker tells what happened to it:
it names the query (a checkpoint that was thrown away begins again with batch 0) and the last batch that was committed,
and it was committed in the transaction of that batch, so it is there if and only if the batch is.

    marker of this query, batch above it      not written: write
    marker of this query, the same batch      written: skip, if Spark planned it in an earlier run
    marker of this query, batch below it      the checkpoint is older than the output: refuse
    no marker, or another query's; batch 0    not written: each batch leaves a marker
    no marker, or another query's; later      refuse: somebody else has used the name, or the marker was lost

The last two refusals are the cases in which nobody can say whether records would be missing or there twice.

A marker is a committed offset of the sink's own group, and lives as long as one (`offsets.retention.minutes`, a week by
default, counted from the last batch).
"""

import json
from dataclasses import dataclass
from enum import Enum, auto


@dataclass(frozen=True, slots=True)
class Marker:
    """The last batch of a query that was committed."""

    query_id: str
    batch_id: int

    def to_text(self) -> str:
        return json.dumps({"query": self.query_id, "batch": self.batch_id})


class Decision(Enum):
    """What to do with a batch."""

    WRITE = auto()
    SKIP = auto()


class Undecidable(Exception):
    """Whether the batch was written cannot be known."""


def parse_marker(text: str) -> Marker | None:
    """A marker out of the metadata of a committed offset; None if it is something else."""
    try:
        found = json.loads(text)
        return Marker(str(found["query"]), int(found["batch"]))
    except (ValueError, TypeError, KeyError):
        return None


def decide(marker: Marker | None, query_id: str, batch_id: int, last_planned: int) -> Decision:
    """What to do with a batch; `last_planned` is the last one that Spark had planned before this run, or -1."""
    if marker is None or marker.query_id != query_id:
        if batch_id == 0:
            return Decision.WRITE
        raise Undecidable(_lost(marker, query_id, batch_id))
    if batch_id > marker.batch_id:
        return Decision.WRITE
    if batch_id == marker.batch_id and batch_id <= last_planned:
        return Decision.SKIP
    raise Undecidable(
        f"the checkpoint wants to write batch {batch_id}, but batch {marker.batch_id} of this query is in the topic "
        "already: the checkpoint is older than the output (was it restored from a copy?)"
    )


def _lost(marker: Marker | None, query_id: str, batch_id: int) -> str:
    if marker is None:
        return (
            f"there is no marker of the batches before batch {batch_id}: it has expired (offsets.retention.minutes "
            "after the last batch) or was deleted, or the sink had another name before"
        )
    return (
        f"the last batch under this name is number {marker.batch_id} of query {marker.query_id}, and this is batch "
        f"{batch_id} of query {query_id}: two queries use one name"
    )
