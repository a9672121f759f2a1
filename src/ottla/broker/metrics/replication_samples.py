"""Samples of what this node does as a follower, and of the in-sync sets that it keeps as a leader."""

from ottla.broker.metrics import catalogue as c
from ottla.broker.metrics.partition_samples import PARTITIONS_MAX
from ottla.broker.requests.time_slice import TimeSlice
from ottla.broker.services import Services
from ottla.metrics.exposition import Exposition, label_text

# What Kafka calls the fetchers of replicas.
_CLIENT_ID = "Replica"


async def add_replication(out: Exposition, services: Services, time_slice: TimeSlice) -> None:
    """Fetchers, lags and in-sync sets."""
    replication = services.replication
    out.add(c.ISR_SHRINKS, replication.in_sync.shrink_count)
    out.add(c.ISR_EXPANDS, replication.in_sync.expand_count)
    out.add(c.FAILED_ISR_UPDATES, replication.in_sync.failure_count)
    out.add(c.REPLICATION_IN, replication.fetchers.appended_bytes)
    fetchers = list(replication.fetchers)
    labels = label_text(clientId=_CLIENT_ID)
    out.add(c.FAILED_PARTITIONS, sum(fetcher.plan.failed_count for fetcher in fetchers), labels)
    out.add(c.MAX_LAG, max((lag for fetcher in fetchers for lag in fetcher.lags.values()), default=0), labels)
    lags = [item for fetcher in fetchers for item in fetcher.lags.items()]
    for (topic_id, index), lag in lags[:PARTITIONS_MAX]:
        topic = services.image.topics.by_id(topic_id)
        if topic is not None:
            out.add(c.FETCHER_LAG, lag, label_text(topic=topic.name, partition=index))
        await time_slice.pause_if_used()
