"""Samples of transactions: the ids that this node coordinates, and what is open in its partitions."""

from collections import Counter

from ottla.broker.metrics import catalogue as c
from ottla.broker.requests.time_slice import TimeSlice
from ottla.broker.services import Services
from ottla.coordinator.transaction.states import TransactionState
from ottla.metrics.exposition import Exposition, label_text

# How long Kafka waits for a coordinator that should have aborted.
_LATE_AFTER_MS = 5 * 60 * 1000


async def add_transactions(out: Exposition, services: Services, time_slice: TimeSlice) -> None:
    """The states of ids, and the transactions that block read_committed consumers."""
    states: Counter[TransactionState] = Counter()
    for active in services.coordinators.transactions.shards.all_active():
        async for metadata in time_slice.over(active.shard.all()):
            states[metadata.state] += 1
    for state in TransactionState:
        if state not in (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE):
            out.add(c.TRANSACTIONAL_IDS, states[state], label_text(state=state.label))
    await _add_open(out, services, time_slice)


async def _add_open(out: Exposition, services: Services, time_slice: TimeSlice) -> None:
    now = services.host.now_ms()
    late_from_ms = services.config.get_int("transaction.max.timeout.ms") + _LATE_AFTER_MS
    producers = late = 0
    longest_ms = 0
    async for partition in time_slice.over(services.replicas.all()):
        known = partition.log.producers
        producers += len(known)
        written_ms = known.oldest_open_write_ms()
        if partition.is_leader and written_ms is not None:
            longest_ms = max(longest_ms, now - written_ms)
            late += now - written_ms > late_from_ms
    out.add(c.PRODUCER_IDS, producers)
    out.add(c.LATE_TRANSACTIONS, late)
    out.add(c.LONGEST_SILENCE, longest_ms / 1000)
