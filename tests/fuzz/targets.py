"""Everything of ours that reads bytes which others wrote, each with what may come of it.

A target takes any bytes. It ends quietly, or with one of the exceptions that its reader declares, which the target
catches itself; whatever else comes out of it is a bug. What could be read must survive being written and read again.
"""

import contextlib
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from harness.sample_messages import sample
from ottla.broker.handlers import load_handlers
from ottla.broker.quorum.quorum_state_file import QuorumStateFile, encode_quorum_state
from ottla.client.columns import batches_to_columns, columns_to_batches
from ottla.client.records import decode_records
from ottla.config.properties_file import parse_properties
from ottla.config.values import ConfigError
from ottla.coordinator.group.records import OffsetRecord, decode_record, encode_record
from ottla.coordinator.group.subscription import subscribed_topics
from ottla.coordinator.state_machine import UnknownRecord
from ottla.metadata.record_serde import UnreadableMetadata
from ottla.metadata.snapshot import read_snapshot
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.codec import MalformedMessage, decode, decode_at, encode
from ottla.protocol.compression import Codec, CompressionError, compress, decompress
from ottla.protocol.control_records import end_txn_batch
from ottla.protocol.errors import ApiError
from ottla.protocol.frame import FrameReader, OversizedFrame
from ottla.protocol.header import read_request_header
from ottla.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.produce_form import ProduceForms
from ottla.protocol.record_batch import TimestampType, batch_records, encode_batch, parse_header
from ottla.protocol.schema import Message
from ottla.raft.ready import ElectionState
from ottla.raft.voters import VoterSet
from ottla.storage.append_validation import rewrite_batch, validate_client_batch
from ottla.storage.checkpoints import decode_checkpoint, encode_checkpoint
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import FileSystem
from ottla.storage.log_config import LogConfig
from ottla.storage.meta_properties import read_meta_properties
from ottla.storage.offset_index import OffsetIndex
from ottla.storage.partition_metadata import read_topic_id
from ottla.storage.producer_replay import apply_batch
from ottla.storage.producer_snapshot import ProducerEntry, decode_snapshot, encode_snapshot, pack_entry
from ottla.storage.producer_state import ProducerStates
from ottla.storage.time_index import TimeIndex
from ottla.storage.transaction_index import TransactionIndex

FRAME_BYTES_MAX = 100_000
OUTPUT_BYTES_MAX = 1 << 20
ELEMENTS_MAX = 10_000
NOW_MS = 1_700_000_000_000

REQUESTS: list[tuple[type[Message], int]] = [
    (module.REQUEST, version) for module in load_handlers() for version in module.REQUEST.VERSIONS
]
_FLEXIBLE_FROM = {cls.API_KEY: cls.FLEXIBLE_FROM for cls, _ in REQUESTS}
_CHOICE = struct.Struct(">H")
_PATH = Path("fuzzed")


@dataclass(frozen=True)
class Target:
    """A reader, and inputs from which its fuzzing starts."""

    read: Callable[[bytes], object]
    seeds: Callable[[], Iterator[bytes]]


class FileOf:
    """A file system with one file, whatever its name."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read_file(self, path: Path) -> bytes:
        del path
        return self._data


def file_of(data: bytes) -> FileSystem:
    return cast(FileSystem, FileOf(data))


# -- the wire ---------------------------------------------------------------------------------------------------------


def frames(data: bytes) -> None:
    """The first byte says how the rest is cut into reads."""
    if not data:
        return
    step, stream = data[0] + 1, data[1:]
    reader = FrameReader(FRAME_BYTES_MAX)
    found: list[bytes] = []
    position = 0
    try:
        while position < len(stream):
            target = reader.writable()
            count = min(len(target), step, len(stream) - position)
            target[:count] = stream[position : position + count]
            target.release()
            reader.received(count)
            position += count
            while (frame := reader.next_frame()) is not None:
                found.append(bytes(frame))
    except OversizedFrame:
        pass
    assert found == list(_simple_frames(stream))[: len(found)]


def _simple_frames(stream: bytes) -> Iterator[bytes]:
    while len(stream) >= 4:
        (size,) = struct.unpack_from(">i", stream)
        if not 0 <= size <= len(stream) - 4:
            return
        yield stream[4 : 4 + size]
        stream = stream[4 + size :]


def frame_seeds() -> Iterator[bytes]:
    yield b"\x03" + b"\0\0\0\5hello" + b"\0\0\0\0" + b"\0\0\0\1x"
    yield b"\xff" + struct.pack(">i", 20_000) + bytes(20_000) + b"\0\0\0\2ab"
    yield b"\0" + struct.pack(">i", -1)


def request_header(data: bytes) -> None:
    try:
        header = read_request_header(data, _FLEXIBLE_FROM)
    except MalformedMessage:
        return
    assert 10 <= header.body_position <= len(data)


def header_seeds() -> Iterator[bytes]:
    yield struct.pack(">hhih", 3, 13, 1, -1) + b"\0"
    yield struct.pack(">hhih", 18, 4, 2**31 - 1, 4) + b"name" + b"\2\1\1x\5\0"


def requests(data: bytes) -> None:
    """The first two bytes choose the API and the version."""
    if len(data) < _CHOICE.size:
        return
    cls, version = REQUESTS[_CHOICE.unpack_from(data)[0] % len(REQUESTS)]
    try:
        message, _ = decode_at(cls, data, version, _CHOICE.size, ELEMENTS_MAX)
    except MalformedMessage:
        return
    written = encode(message, version)
    assert encode(decode(cls, written, version), version) == written


def request_seeds() -> Iterator[bytes]:
    chance = random.Random(1)
    for number, (cls, version) in enumerate(REQUESTS):
        for _ in range(2):
            yield _CHOICE.pack(number) + encode(sample(cls, version, chance), version)


def produce_forms(data: bytes) -> None:
    """A Produce request: what is recognised by its form means what the codec reads."""
    frame = bytearray(data)
    forms = ProduceForms()
    try:
        header = read_request_header(frame, _FLEXIBLE_FROM)
        if header.api_key != ProduceRequest.API_KEY or header.api_version not in ProduceRequest.VERSIONS:
            return
        request, _ = decode_at(ProduceRequest, frame, header.api_version, header.body_position, ELEMENTS_MAX)
    except MalformedMessage:
        assert forms.find(frame) is None
        return
    forms.learn(frame, header.api_version, header.body_position, request)
    form = forms.find(frame)
    if form is not None and (records := form.batch_of(frame)) is not None:
        ((topic, row),) = [(topic, row) for topic in request.topic_data for row in topic.partition_data]
        assert (form.topic, form.topic_id, form.index) == (topic.name, topic.topic_id, row.index)
        assert (form.version, form.acks, records) == (header.api_version, request.acks, row.records)


def produce_form_seeds() -> Iterator[bytes]:
    builder = BatchBuilder()
    builder.append(b"k", b"v" * 60, timestamp_ms=1)
    data = [PartitionProduceData(index=1, records=bytes(builder.build()))]
    for version in ProduceRequest.VERSIONS:
        topic = TopicProduceData(partition_data=data, **({"topic_id": bytes(16)} if version >= 13 else {"name": "t"}))
        body = encode(ProduceRequest(acks=1, timeout_ms=100, topic_data=[topic]), version)
        for name in (struct.pack(">h", 2) + b"id", struct.pack(">h", -1)):
            tags = b"\0" if version >= ProduceRequest.FLEXIBLE_FROM else b""
            yield struct.pack(">hhi", 0, version, 7) + name + tags + body


def consumer_protocol(data: bytes) -> None:
    subscribed_topics([data])


def consumer_protocol_seeds() -> Iterator[bytes]:
    for version in ConsumerProtocolSubscription.VERSIONS:
        message = sample(ConsumerProtocolSubscription, version, random.Random(version))
        yield struct.pack(">h", version) + encode(message, version)


# -- records ----------------------------------------------------------------------------------------------------------


def codecs(data: bytes) -> None:
    """The first byte chooses the codec."""
    if not data:
        return
    try:
        plain = decompress(Codec(data[0] % len(Codec)), data[1:], OUTPUT_BYTES_MAX)
    except CompressionError:
        return
    assert len(plain) <= OUTPUT_BYTES_MAX


def codec_seeds() -> Iterator[bytes]:
    for codec in Codec:
        for plain in (b"", b"hello", bytes(1000), bytes(100_000)):
            yield bytes([codec]) + compress(codec, plain)


_COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}))


def batches(data: bytes) -> None:
    """A batch as it came, and again with a checksum and a length that fit."""
    for records in (data, _repaired(data)):
        try:
            header = validate_client_batch(records, LogConfig())
            list(batch_records(records, header))
        except ApiError:
            pass
        try:
            header = validate_client_batch(records, _COMPACTED)
            rewritten, _ = rewrite_batch(records, header, _COMPACTED, NOW_MS)
        except ApiError:
            continue
        assert header.timestamp_type is TimestampType.LOG_APPEND_TIME or bytes(rewritten) == bytes(records)


def _repaired(data: bytes) -> bytes:
    if len(data) < 61:
        return data
    try:
        return bytes(encode_batch(parse_header(data), data[61:]))
    except ApiError:
        return data


def batch_seeds() -> Iterator[bytes]:
    for codec in Codec:
        builder = BatchBuilder(codec=codec)
        for number in range(3):
            builder.append(b"k", b"v" * number, timestamp_ms=NOW_MS, headers=[("h", b"x"), ("n", None)])
        yield bytes(builder.build())


def columns(data: bytes) -> None:
    """Batches as they came, and again with a checksum and a length that fit: as columns, and record by record."""
    for stored in (data, _repaired(data)):
        try:
            records = decode_records("t", 0, stored, check_crc=False)
        except ApiError:
            records = None
        try:
            found = batches_to_columns(stored, check_crc=False)
        except ApiError:
            assert records is None
            continue
        assert records is not None
        found.validate(full=True)
        # Of single records those are counted that lie before any offset, too.
        visible = [record for record in records if 0 <= record.offset < 2**63]
        assert found.column("key").to_pylist() == [record.key for record in visible]
        assert found.column("value").to_pylist() == [record.value for record in visible]
        headers = [[(pair["key"], pair["value"]) for pair in row] for row in found.column("headers").to_pylist()]
        assert headers == [list(record.headers) for record in visible]
        if found.num_rows:
            made = columns_to_batches(found, timestamp_ms=NOW_MS)
            assert batches_to_columns(made).column("value").equals(found.column("value"))


def column_seeds() -> Iterator[bytes]:
    yield from batch_seeds()
    yield b"".join(batch_seeds())
    builder = BatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME)
    for number in range(100):
        builder.append(None if number % 3 else b"key", b"value" * number, timestamp_ms=NOW_MS)
    yield bytes(builder.build())


def markers(data: bytes) -> None:
    """A batch of a producer as a replay of the log takes it, with the checksum and length that it would have there."""
    for records in (data, _repaired(data)):
        producers = ProducerStates("t-0")
        with contextlib.suppress(ApiError):
            header = parse_header(records)
            if len(records) < header.size_bytes or not header.has_producer_id:
                continue
            for base_offset in (0, 10):
                aborted = apply_batch(producers, header, base_offset, records)
                assert aborted is None or aborted.first_offset < aborted.last_offset
            producers.forget_replicated(100)
            restored = ProducerStates("t-0")
            restored.load_entries(decode_snapshot(_PATH, producers.to_snapshot()), 100, NOW_MS, 2**62)
            assert restored.first_unstable_offset == producers.first_unstable_offset


def marker_seeds() -> Iterator[bytes]:
    for is_commit in (True, False):
        yield bytes(
            end_txn_batch(
                producer_id=7, producer_epoch=1, is_commit=is_commit, coordinator_epoch=3, timestamp_ms=NOW_MS
            )
        )
    builder = BatchBuilder(producer_id=7, producer_epoch=1, base_sequence=2, is_transactional=True)
    builder.append(b"k", b"v", timestamp_ms=NOW_MS)
    yield bytes(builder.build())


def group_records(data: bytes) -> None:
    """The first byte says where the key ends."""
    if not data:
        return
    end = 1 + data[0]
    try:
        record = decode_record(data[1:end], data[end:])
    except (MalformedMessage, UnknownRecord):
        return
    key, value = encode_record(record)
    assert decode_record(key, value) == record


def group_record_seeds() -> Iterator[bytes]:
    chance = random.Random(1)
    from ottla.coordinator.group.records import CommittedOffset, GroupRecord
    from ottla.protocol.messages.group_metadata_value import GroupMetadataValue

    offset = CommittedOffset(7, 1, "note", NOW_MS, -1, bytes(16))
    group = sample(GroupMetadataValue, max(GroupMetadataValue.VERSIONS), chance)
    for record in (OffsetRecord("g", "t", 3, offset), OffsetRecord("g", "t", 3, None), GroupRecord("g", group)):
        key, value = encode_record(record)
        yield bytes([len(key)]) + key + (value or b"")


# -- files ------------------------------------------------------------------------------------------------------------


def producer_snapshot(data: bytes) -> None:
    try:
        entries = decode_snapshot(_PATH, data)
    except DamagedFile:
        return
    assert decode_snapshot(_PATH, encode_snapshot(map(pack_entry, entries))) == entries
    ProducerStates("t-0").load_entries(entries, 100, NOW_MS, 24 * 3_600_000)


def producer_snapshot_seeds() -> Iterator[bytes]:
    yield encode_snapshot([])
    two = [ProducerEntry(1, 0, 5, 9, 5, NOW_MS, -1, -1), ProducerEntry(2, 3, 0, 0, 0, NOW_MS, 1, 7)]
    yield encode_snapshot(map(pack_entry, two))


def indexes(data: bytes) -> None:
    for kind in (OffsetIndex, TimeIndex):
        index = kind.load(file_of(data), _PATH, 100)
        if isinstance(index, OffsetIndex):
            index.entry_before(150)
            index.entry_at_or_before(4096)
        elif isinstance(index, TimeIndex):
            index.entry_before(NOW_MS)
    with contextlib.suppress(DamagedFile):
        TransactionIndex.load(file_of(data), _PATH).overlapping(0, 2**60)


def index_seeds() -> Iterator[bytes]:
    yield struct.pack(">iiii", 1, 0, 5, 4096)
    yield struct.pack(">qiqi", NOW_MS, 1, NOW_MS + 1, 9)
    yield struct.pack(">hqqqq", 0, 1, 2, 3, 4)
    yield struct.pack(">iiii", 1, 0, 5, 4096) + bytes(80)


def small_files(data: bytes) -> None:
    """Checkpoints, meta.properties, partition.metadata, quorum-state."""
    readers: list[Callable[[], object]] = [
        lambda: decode_checkpoint(_PATH, data),
        lambda: read_meta_properties(file_of(data), _PATH),
        lambda: read_topic_id(file_of(data), _PATH),
        lambda: QuorumStateFile(file_of(data), _PATH).read(),
    ]
    for read in readers:
        try:
            read()
        except DamagedFile:
            continue


def small_file_seeds() -> Iterator[bytes]:
    yield encode_checkpoint(["orders 0 42", "orders 1 7"])
    yield b"#\nnode.id=1\nversion=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAA\ncluster.id=c\n"
    yield b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n"
    yield encode_quorum_state(ElectionState(epoch=3), 1, VoterSet(()))


def metadata_snapshot(data: bytes) -> None:
    with contextlib.suppress(UnreadableMetadata):
        read_snapshot(data)


def properties_file(data: bytes) -> None:
    with contextlib.suppress(ConfigError):
        parse_properties(data.decode("latin-1"))


def properties_seeds() -> Iterator[bytes]:
    yield b"# comment\nnode.id = 1\nlisteners=PLAINTEXT://:9092\\\n  ,B://:1\nkey\\ with=\\u00e9\n"


TARGETS: dict[str, Target] = {
    "frames": Target(frames, frame_seeds),
    "request-header": Target(request_header, header_seeds),
    "requests": Target(requests, request_seeds),
    "produce-forms": Target(produce_forms, produce_form_seeds),
    "consumer-protocol": Target(consumer_protocol, consumer_protocol_seeds),
    "codecs": Target(codecs, codec_seeds),
    "batches": Target(batches, batch_seeds),
    "columns": Target(columns, column_seeds),
    "markers": Target(markers, marker_seeds),
    "group-records": Target(group_records, group_record_seeds),
    "producer-snapshot": Target(producer_snapshot, producer_snapshot_seeds),
    "indexes": Target(indexes, index_seeds),
    "small-files": Target(small_files, small_file_seeds),
    "metadata-snapshot": Target(metadata_snapshot, batch_seeds),
    "properties": Target(properties_file, properties_seeds),
}
