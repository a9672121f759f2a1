"""Snapshots of the metadata log, in Kafka's file format (KIP-630).

A file `<end offset>-<epoch>.checkpoint` holds the state after all records before its end offset: a control batch with
the snapshot header (and the quorum's version and voters), batches of metadata records, and a control batch with the
footer. A file without a footer is incomplete and is ignored. Offsets inside start at 0 and have no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ottla.metadata.control_records import ControlRecord, SnapshotFooter, SnapshotHeader
from ottla.metadata.image import ClusterImage, ImageBuilder
from ottla.metadata.log_batches import encode_control_batch, encode_values, read_metadata_batches
from ottla.metadata.record_serde import UnreadableMetadata, encode_record
from ottla.protocol.compression import Buffer
from ottla.protocol.schema import Message
from ottla.raft.batch import KRaftVersionContent, VotersContent
from ottla.raft.epochs import OffsetAndEpoch
from ottla.raft.voters import VoterSet

BOOTSTRAP_FILE = "bootstrap.checkpoint"
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_RECORDS_PER_BATCH = 1024


@dataclass(frozen=True, slots=True)
class SnapshotContents:
    records: tuple[Message, ...]
    last_contained_log_timestamp_ms: int
    kraft_version: int
    voters: VoterSet | None

    def image(self, snapshot: OffsetAndEpoch) -> ClusterImage:
        builder = ImageBuilder()
        for record in self.records:
            builder.apply(record)
        return builder.build(end_offset=snapshot.offset, epoch=snapshot.epoch)


def snapshot_file_name(snapshot: OffsetAndEpoch) -> str:
    return f"{snapshot.offset:020d}-{snapshot.epoch:010d}.checkpoint"


def parse_snapshot_file_name(name: str) -> OffsetAndEpoch | None:
    match = _NAME.fullmatch(name)
    return OffsetAndEpoch(int(match[1]), int(match[2])) if match else None


def encode_snapshot(
    records: Iterable[Message],
    *,
    epoch: int,
    now_ms: int,
    last_contained_log_timestamp_ms: int,
    voters: VoterSet | None = None,
    kraft_version: int = 0,
) -> Iterator[Buffer]:
    """The batches of a snapshot file, in order."""
    head: list[ControlRecord] = [SnapshotHeader(last_contained_log_timestamp_ms)]
    if kraft_version > 0 and voters is not None:
        head += [KRaftVersionContent(kraft_version), VotersContent(voters)]
    yield encode_control_batch(head, 0, epoch, now_ms)
    offset = len(head)
    values: list[bytes] = []
    for record in records:
        values.append(encode_record(record))
        if len(values) == _RECORDS_PER_BATCH:
            yield encode_values(values, offset, epoch, now_ms)
            offset += len(values)
            values = []
    if values:
        yield encode_values(values, offset, epoch, now_ms)
        offset += len(values)
    yield encode_control_batch([SnapshotFooter()], offset, epoch, now_ms)


def read_snapshot(data: Buffer) -> SnapshotContents:
    """UnreadableMetadata when the file is damaged or incomplete."""
    records: list[Message] = []
    control: list[ControlRecord] = []
    for batch in read_metadata_batches(data):
        if any(isinstance(record, SnapshotFooter) for record in control):
            raise UnreadableMetadata("a snapshot continues after its footer")
        control += batch.control
        records += batch.records
    if not control or not isinstance(control[0], SnapshotHeader):
        raise UnreadableMetadata("a snapshot does not begin with its header")
    if not isinstance(control[-1], SnapshotFooter):
        raise UnreadableMetadata("a snapshot has no footer: it is incomplete")
    kraft_version = next((r.kraft_version for r in control if isinstance(r, KRaftVersionContent)), 0)
    voters = next((r.voters for r in control if isinstance(r, VotersContent)), None)
    return SnapshotContents(tuple(records), control[0].last_contained_log_timestamp_ms, kraft_version, voters)
