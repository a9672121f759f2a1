"""Samples of the node as a whole: connections, directories, maintenance, controller, quorum."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ottla.broker.disks.cleaning import Cleaning
from ottla.broker.disks.maintenance import Maintenance
from ottla.broker.metrics import catalogue as c
from ottla.broker.metrics.measured_dispatch import MeasuredDispatcher
from ottla.broker.network.acceptor import Acceptor
from ottla.broker.services import Services
from ottla.metrics.exposition import Exposition, label_text

_RUNNING: Final = 3
_FDS: Final = Path("/proc/self/fd")


def add_network(out: Exposition, acceptors: Iterable[Acceptor], dispatcher: MeasuredDispatcher) -> None:
    """Open connections, and those that were closed because of their peers."""
    for acceptor in acceptors:
        out.add(c.CONNECTIONS, len(acceptor.connections), label_text(listener=acceptor.listener.name))
    for reason, count in dispatcher.rejections.counts.items():
        out.add(c.REJECTED, count, label_text(reason=reason))
    out.add(c.UNREAD_BYTES, dispatcher.response_budget.waiting_bytes)
    sessions = dispatcher.services.data_path.fetch_sessions
    out.add(c.FETCH_SESSIONS, len(sessions))
    out.add(c.FETCH_SESSION_PARTITIONS, sum(len(session.partitions) for session in sessions))
    out.add(c.FETCH_SESSION_EVICTIONS, sessions.evicted_count)


def add_cluster(out: Exposition, services: Services) -> None:
    """Brokers, the controller and its quorum."""
    image = services.image
    active = len(image.brokers.unfenced())
    out.add(c.BROKER_STATE, _RUNNING)
    out.add(c.BROKERS, active)
    for broker in image.brokers:
        address = f"{broker.endpoints[0].host}:{broker.endpoints[0].port}" if broker.endpoints else ""
        out.add(c.BROKER_INFO, broker.id, label_text(id=broker.id, address=address))
    out.add(c.ACTIVE_BROKERS, active)
    out.add(c.FENCED_BROKERS, len(image.brokers) - active)
    controller = services.metadata.controller_role
    out.add(c.ACTIVE_CONTROLLER, int(controller is not None and controller.is_active))
    out.add(c.LAST_APPLIED, image.end_offset - 1)
    quorum = services.metadata.log.describe()
    out.add(c.RAFT_LEADER, quorum.leader_id)
    out.add(c.RAFT_EPOCH, quorum.epoch)
    out.add(c.RAFT_HIGH_WATERMARK, quorum.high_watermark)
    out.add(c.LAST_COMMITTED, quorum.high_watermark - 1)
    for voter in quorum.voters:
        if voter.id == services.config.node_id:
            out.add(c.RAFT_LOG_END, voter.log_end_offset)
    out.add(c.RAFT_VOTERS, len(quorum.voters))
    out.add(c.RAFT_OBSERVERS, len(quorum.observers))
    state = "leader" if quorum.leader_id == services.config.node_id else "follower"
    out.add(c.RAFT_STATE, 1, label_text(state=state))


async def add_directories(out: Exposition, services: Services) -> None:
    """Log directories, and the space that is left on their volumes."""
    logs = services.replicas.logs
    for path in logs.offline_paths:
        out.add(c.DIRECTORY_OFFLINE, 1, label_text(logDirectory=path))
    out.add(c.OFFLINE_DIRECTORIES, len(logs.offline_paths))
    for path in [directory.path for directory in logs.online_directories]:
        out.add(c.DIRECTORY_OFFLINE, 0, label_text(logDirectory=path))
        volume = await services.volumes.ask(path)
        if volume is not None:
            out.add(c.DIRECTORY_TOTAL, volume.total_bytes, label_text(log_directory=path))
            out.add(c.DIRECTORY_USABLE, volume.usable_bytes, label_text(log_directory=path))


def add_maintenance(out: Exposition, maintenance: Maintenance) -> None:
    """The totals of the passes."""
    done_by = {"flush": c.FLUSHES, "retention": c.SEGMENTS_DELETED}
    for name, record in maintenance.records.items():
        labels = label_text(**{"pass": name})
        out.add(c.PASSES, record.count, labels)
        out.add(c.PASS_SECONDS, record.seconds, labels)
        out.add(c.PASS_FAILURES, record.failures, labels)
        if name in done_by:
            out.add(done_by[name], record.done)


def add_cleaning(out: Exposition, services: Services, cleaning: Cleaning) -> None:
    """The totals of the cleaners, and the logs that they cannot clean."""
    record, last = cleaning.record, list(cleaning.last_passes.values())
    out.add(c.LOGS_COMPACTED, record.passes)
    out.add(c.COMPACTION_SECONDS, record.seconds)
    out.add(c.COMPACTION_FAILURES, record.failures)
    cleaned_bytes = sum(one.bytes_cleaned for one in last)
    out.add(c.RECOPY_PERCENT, 100 * sum(one.bytes_written for one in last) // max(cleaned_bytes, 1))
    out.add(c.CLEAN_TIME, int(max((one.seconds for one in last), default=0)))
    out.add(c.BUFFER_UTILIZATION, int(100 * max((one.map_utilization for one in last), default=0)))
    out.add(c.COMPACTION_DELAY, record.delay_ms_max // 1000)
    out.add(c.DEAD_CLEANERS, cleaning.dead_count)
    out.add(c.DIRTY_PERCENT, int(100 * record.dirty_ratio_max))
    out.add(c.SINCE_CLEANER_RUN, int(1000 * (services.host.monotonic_s() - record.looked_at_s)))
    logs = services.replicas.logs
    for path in [directory.path for directory in logs.online_directories]:
        uncleanable = logs.cleaning.uncleanable_in(path)
        out.add(c.UNCLEANABLE, uncleanable.partitions, label_text(logDirectory=path))
        out.add(c.UNCLEANABLE_BYTES, uncleanable.dirty_bytes, label_text(logDirectory=path))
