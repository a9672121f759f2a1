"""A partition whose leader has just begun: how soon its followers come."""

from dataclasses import replace
from pathlib import Path

from ottla.replication.leader_state import HURRY_INTERVAL_MS
from unit.replication.partitions import TRIO, append, broker_of, fetch, make, to_leader


def test_a_new_leader_has_silent_in_sync_followers_fetch_at_once_and_leaves_the_others_alone(tmp_path: Path) -> None:
    partition = make(tmp_path, replace(TRIO, in_sync=(1, 2)))
    broker = broker_of(partition)
    broker.hurried.clear()
    to_leader(partition, in_sync=(1, 2))
    assert broker.hurried == [2]
    # Whoever learns late of the leader has only just been asked; then each record asks again.
    append(partition)
    assert broker.hurried == [2]
    broker.now_ms += HURRY_INTERVAL_MS
    append(partition)
    assert broker.hurried == [2, 2]
    fetch(partition, 2, 0)
    broker.now_ms += HURRY_INTERVAL_MS
    append(partition)
    assert broker.hurried == [2, 2]
