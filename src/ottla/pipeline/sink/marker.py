"""The marker that shows whether a batch is in the topic already: it is committed together with the records. Pure.

Spark records which offsets a batch covers before the batch runs, and afterwards that it is done; a batch that is not
recorded as done runs again, under the same number and with the same offsets. The marker shows what happened to it: it
names the query (a new checkpoint starts again with batch 0), the last batch that was committed, and what Spark had
planned for it (a checkpoint that was restored from a copy plans the same number again). It was committed in the
transaction of that batch, so it is there if and only if the batch is. Each batch leaves one.

    marker of this query, the batch after it              not written: write
    marker of this query, the same batch, the same plan   written: skip
    marker of this query, anything else                   the checkpoint is not the one that wrote: refuse
    no marker, or another query's; batch 0                not written: write
    no marker; a batch that was planned just now          not written: write
    no marker; one that was planned before this start     refuse: the marker was lost
    another query's; later                                refuse: another query has used the name

Refused are the cases in which nobody can know whether records would be missing or duplicated; a second start is refused
like the first.

A marker is a committed offset of the sink's own group, and is kept as long as one (`offsets.retention.minutes`, a week
by default, counted from the last batch). So a query that paused for longer, after a batch that Spark knows to be done,
has none; its next batch is planned when all others are fenced, so nobody can have written it. The offset itself counts
markers: the highest is the last.
"""

import json
from dataclasses import dataclass
from enum import Enum, auto
from hashlib import blake2b

_PLAN_BYTES = 16


@dataclass(frozen=True, slots=True)
class Marker:
    """The last batch of a query that was committed; `serial` is how many were before it under this name."""

    query_id: str
    batch_id: int
    plan: str
    serial: int = 0

    def to_text(self) -> str:
        return json.dumps({"query": self.query_id, "batch": self.batch_id, "plan": self.plan})


class Decision(Enum):
    """What to do with a batch."""

    WRITE = auto()
    SKIP = auto()


class Undecidable(Exception):
    """It cannot be known whether the batch was written."""


def plan_of(planned: str) -> str:
    """Digest what Spark has planned for a batch; the text holds the time, so no two are the same."""
    return blake2b(planned.encode(), digest_size=_PLAN_BYTES).hexdigest()


def parse_marker(serial: int, text: str) -> Marker | None:
    """Read a marker from a committed offset and its metadata; None if it is something else."""
    try:
        found = json.loads(text)
        return Marker(str(found["query"]), int(found["batch"]), str(found["plan"]), serial)
    except (ValueError, TypeError, KeyError):
        return None


def decide(marker: Marker | None, query_id: str, batch_id: int, plan: str, *, is_new: bool) -> Decision:
    """Decide what to do with a planned batch; a new one was planned after this start of the sink."""
    if marker is None or marker.query_id != query_id:
        if batch_id == 0 or (marker is None and is_new):
            return Decision.WRITE
        raise Undecidable(_lost(marker, query_id, batch_id))
    if batch_id == marker.batch_id + 1:
        return Decision.WRITE
    if batch_id == marker.batch_id and plan == marker.plan:
        return Decision.SKIP
    raise Undecidable(
        f"the checkpoint wants to write batch {batch_id}, and the last one of this query in the topic is batch "
        f"{marker.batch_id}, {'with the same' if plan == marker.plan else 'with other'} offsets: the checkpoint is not "
        "the one that wrote it, but older than the output (was it restored from a copy?), or the marker is"
    )


def _lost(marker: Marker | None, query_id: str, batch_id: int) -> str:
    if marker is None:
        return (
            f"there is no marker of the batches before batch {batch_id}, which was begun before this start: it has "
            "expired (offsets.retention.minutes after the last batch) or was deleted, with the topic if that was made "
            "anew, or the sink had another name"
        )
    return (
        f"the last batch under this name is number {marker.batch_id} of query {marker.query_id}, and this is batch "
        f"{batch_id} of query {query_id}: two queries use one name"
    )
