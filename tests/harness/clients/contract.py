"""What the matrix asks of a client.

A client that lacks a feature of the contract does not list it in `features`, and the tests of that feature leave it
out. All calls block until the server has answered, and raise what the client library raises.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

Headers = tuple[tuple[str, bytes | None], ...]

# The client must notice a new member soon, and a test must see an abandoned one expire soon.
HEARTBEAT_INTERVAL_MS = 500
SESSION_TIMEOUT_MS = 10_000


@dataclass(frozen=True, slots=True)
class Record:
    """What a test sends, and what it expects to receive."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Received:
    record: Record
    partition: int
    offset: int


class Feature(Enum):
    IDEMPOTENT = auto()
    REPEATED_HEADERS = auto()
    GROUPS = auto()
    STATIC_MEMBERS = auto()
    COOPERATIVE = auto()
    OFFSETS_BY_TIME = auto()
    TOPIC_ADMIN = auto()
    PARTITION_ADMIN = auto()
    CONFIG_ADMIN = auto()
    GROUP_ADMIN = auto()
    GROUP_DELETION = auto()
    RECORD_DELETION = auto()


UNCOMMITTED, COMMITTED = "read_uncommitted", "read_committed"

# The words of five libraries for: another instance with this transactional id has begun.
FENCED = r"(?i)fenced|producer ?epoch|older epoch|newer producer"

ALL_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class Member(ABC):
    """A member of a group that polls in the background until it is closed, and commits nothing."""

    @abstractmethod
    def assignment(self) -> frozenset[int]:
        """The partitions of the member's one topic that it holds now."""

    @abstractmethod
    def revocations(self) -> int:
        """How many times partitions were taken from it so far."""

    @abstractmethod
    def close(self) -> None:
        """Leaves the group (a static member does not: it only goes away)."""


class TransactionalProducer(ABC):
    """A producer with a transactional id. It is made initialised: earlier instances with its id are fenced."""

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def send(self, topic: str, partition: int, *values: bytes) -> None:
        """Sends records to one partition, in order, and waits until the server has them."""

    @abstractmethod
    def send_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Makes a group's offset part of the transaction."""

    @abstractmethod
    def commit(self) -> None: ...

    @abstractmethod
    def abort(self) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """Goes away, whatever its transaction's state; does not raise for a producer that was fenced."""


class Client(ABC):
    name: str
    features: frozenset[Feature]
    codecs: tuple[str, ...] = ALL_CODECS

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def close(self) -> None:  # noqa: B027 - only clients with a process of their own have something to close
        """Ends what the client keeps running."""

    @abstractmethod
    def produce(
        self,
        topic: str,
        records: Iterable[Record],
        *,
        partition: int = 0,
        acks: str = "all",
        codec: str = "none",
        idempotent: bool = False,
    ) -> None:
        """Sends all records to one partition, in order, and waits for what `acks` promises."""

    @abstractmethod
    def read(
        self, topic: str, partition: int, offset: int, count: int, *, isolation: str = UNCOMMITTED
    ) -> list[Received]:
        """`count` records from an offset on, without a group."""

    @abstractmethod
    def consume(self, topic: str, group: str, count: int) -> list[Received]:
        """Joins, reads exactly `count` records from where the group stands (else from the start), commits, leaves."""

    @abstractmethod
    def transactional_producer(self, transactional_id: str, *, timeout_ms: int = 60_000) -> TransactionalProducer: ...

    def member(self, topic: str, group: str, *, instance_id: str | None = None, cooperative: bool = False) -> Member:
        raise NotImplementedError

    def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        """The first offset with that timestamp or a later one."""
        raise NotImplementedError

    def committed(self, group: str, topic: str, partition: int) -> int | None:
        raise NotImplementedError

    def create_topic(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        raise NotImplementedError

    def delete_topic(self, topic: str) -> None:
        raise NotImplementedError

    def topics(self) -> dict[str, int]:
        """Every topic with its number of partitions."""
        raise NotImplementedError

    def add_partitions(self, topic: str, total: int) -> None:
        raise NotImplementedError

    def topic_config(self, topic: str, name: str) -> str:
        raise NotImplementedError

    def set_topic_config(self, topic: str, name: str, value: str) -> None:
        raise NotImplementedError

    def groups(self) -> set[str]:
        raise NotImplementedError

    def describe_group(self, group: str) -> tuple[str, int]:
        """The group's state, in Kafka's words, and its number of members."""
        raise NotImplementedError

    def delete_group(self, group: str) -> None:
        raise NotImplementedError

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        raise NotImplementedError
