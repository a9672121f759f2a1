"""The brokers of one cluster as a client uses them: connections on demand, the metadata, coordinators, and retries.

Guarantees. There is at most one connection per broker and channel. Channels exist because a broker answers the requests
of one connection in order: a fetch that waits for data, or a join that waits for other members, has a channel to itself
for as long as it lasts. A connection that has ended is replaced when it is next needed. When no known broker can be
reached, the bootstrap addresses are tried again (KIP-899), so a whole cluster may move while a client lives.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeVar

from ottla.client.addresses import Address
from ottla.client.connection import Connection, Security, close_all, open_connection
from ottla.client.errors import (
    BrokerUnreachable,
    ClientClosed,
    ClientError,
    ConnectionLost,
    KafkaError,
    RequestTimedOut,
    error_of,
    raise_for,
)
from ottla.client.machine import Machine
from ottla.client.metadata import MetadataCache, Node, TopicInfo
from ottla.client.retries import Deadline, Retry, RetryPolicy, is_retriable, needs_coordinator, needs_metadata
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from ottla.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.metadata_response import MetadataResponse
from ottla.protocol.topic_partition import TopicPartition

T = TypeVar("T")

# The connection over which the cluster was first reached, kept in use even if no broker announces its address.
_BOOTSTRAP_NODE = -1

# Since version 4 the request can say whether topics are created.
_METADATA_VERSION_MIN = 4


class CoordinatorKind(IntEnum):
    """What a coordinator coordinates."""

    GROUP = 0
    TRANSACTION = 1


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """How a client behaves towards its cluster; the names in comments are Kafka's."""

    client_id: str = "ottla"
    security: Security = field(default_factory=Security)
    connect_timeout_ms: float = 10_000  # socket.connection.setup.timeout.ms
    request_timeout_ms: float = 30_000  # request.timeout.ms
    call_timeout_ms: float = 60_000  # default.api.timeout.ms
    metadata_max_age_ms: float = 300_000  # metadata.max.age.ms
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    # Called on the event loop before each retry; without it a client retries in silence.
    on_retry: Callable[[Retry], None] | None = None
    machine: Machine = field(default_factory=Machine)


class Cluster:
    """The connections and the knowledge that all parts of one client share."""

    def __init__(self, bootstrap: Iterable[Address], settings: ClientSettings | None = None) -> None:
        self.bootstrap = tuple(bootstrap)
        self.settings = settings or ClientSettings()
        self.machine = self.settings.machine
        self.metadata = MetadataCache()
        self._connections: dict[tuple[int, str], Connection] = {}
        self._opening: dict[tuple[int, str], asyncio.Task[Connection]] = {}
        self._leases: dict[tuple[int, str], set[int]] = {}
        self._coordinators: dict[tuple[CoordinatorKind, str], int] = {}
        self._topic_times_s: dict[str, float] = {}
        self._refreshing = asyncio.Lock()
        # A dict, because tasks are ended in this order: a set would go by their addresses.
        self._background: dict[asyncio.Task[Any], None] = {}
        self._is_closed = False

    async def start(self) -> None:
        """Reach the cluster once, so that a wrong address is reported here and not in the middle of the work."""
        if not self.metadata.nodes:
            await self.refresh(())

    async def close(self) -> None:
        """Close every connection, and end what runs over them."""
        self._is_closed = True
        tasks = tuple(self._background)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        connections = list(self._connections.values())
        self._connections.clear()
        await close_all(connections)

    def now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def in_background(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Start work that its owner may forget: it ends with the cluster at the latest.

        A loop holds its tasks weakly: one that waits for something that only its owner knows would be destroyed with
        its owner, which asyncio reports as an error.
        """
        task = asyncio.create_task(work, name=name)
        self._background[task] = None
        task.add_done_callback(self._background_ended)
        return task

    def _background_ended(self, task: asyncio.Task[Any]) -> None:
        self._background.pop(task, None)
        if not task.cancelled():
            # Those who wait for the task get its error; if nobody does, asyncio must not report it as lost.
            task.exception()

    # Connections.

    async def connection(self, node_id: int, channel: str = "") -> Connection:
        """An open connection to a broker."""
        node = self.metadata.nodes.get(node_id)
        if node is None:
            raise BrokerUnreachable(f"broker {node_id} is not part of the cluster (any more)")
        return await self._connect((node_id, channel), node.address)

    @contextlib.asynccontextmanager
    async def lease(self, node_id: int, purpose: str) -> AsyncIterator[Connection]:
        """Lease a connection that nobody else uses, for requests that wait at the broker; the next lease reuses it."""
        taken = self._leases.setdefault((node_id, purpose), set())
        number = next(number for number in itertools.count() if number not in taken)
        taken.add(number)
        try:
            connection = await self.connection(node_id, f"{purpose}-{number}")
            try:
                yield connection
            except asyncio.CancelledError:
                # The broker still works on the request: the next one would wait behind it.
                connection.abort(ConnectionLost("the request was given up"))
                raise
        finally:
            taken.discard(number)

    async def any_connection(self) -> Connection:
        """Get a connection to any broker that answers, preferably one that is open."""
        for (_, channel), connection in self._connections.items():
            if connection.is_open and not channel:
                return connection
        for node_id in self.machine.shuffled(self.metadata.nodes):
            with contextlib.suppress(ClientError):
                return await self.connection(node_id)
        return await self._bootstrap_connection()

    async def controller_connection(self) -> Connection:
        """Get a connection to a broker that accepts changes of the cluster; with KRaft every broker forwards them."""
        if self.metadata.controller_id in self.metadata.nodes:
            return await self.connection(self.metadata.controller_id)
        return await self.any_connection()

    async def _connect(self, key: tuple[int, str], address: Address) -> Connection:
        if self._is_closed:
            raise ClientClosed("the client was closed")
        connection = self._connections.get(key)
        if connection is not None and connection.is_open and connection.address == address:
            return connection
        opening = self._opening.get(key)
        if opening is None:
            opening = self.in_background(self._open(key, address), f"connect to {address}")
            self._opening[key] = opening
        # Several calls may wait for the one attempt: cancelling one of them must not cancel it for the others.
        return await asyncio.shield(opening)

    async def _open(self, key: tuple[int, str], address: Address) -> Connection:
        settings = self.settings
        try:
            connection = await open_connection(
                address,
                client_id=settings.client_id,
                security=settings.security,
                connect_timeout_s=settings.connect_timeout_ms / 1000,
                request_timeout_s=settings.request_timeout_ms / 1000,
            )
        except BrokerUnreachable as error:
            if key[0] == _BOOTSTRAP_NODE:
                raise
            hint = f"broker {key[0]} announces itself there (advertised.listeners)"
            raise type(error)(f"{error} ({hint})") from error
        finally:
            self._opening.pop(key, None)
        replaced = self._connections.get(key)
        if replaced is not None:
            # Lost, not closed: requests that wait there are repeated at the new address.
            replaced.abort(ConnectionLost(f"broker {key[0]} is at {address} now"))
        self._connections[key] = connection
        return connection

    async def _bootstrap_connection(self) -> Connection:
        failures = []
        for address in self.machine.shuffled(self.bootstrap):
            try:
                return await self._connect((_BOOTSTRAP_NODE, ""), address)
            except ClientClosed:
                raise
            except ClientError as error:
                failures.append(error)
        if len(failures) == 1:
            raise failures[0]
        told = "; ".join(map(str, failures))
        raise BrokerUnreachable(f"none of the {len(failures)} bootstrap addresses can be used: {told}")

    # Metadata.

    async def refresh(self, topics: Iterable[str] | None, *, auto_create: bool = False) -> None:
        """Ask for the brokers and these topics; None is all topics."""
        # Sorted, because callers collect names in sets: a request must not depend on the hash of a text.
        names = None if topics is None else sorted(set(topics))
        asked_at_s = self.now_s()
        async with self._refreshing:
            if names and all(self._topic_times_s.get(name, -1.0) > asked_at_s for name in names):
                return
            rows = None if names is None else [MetadataRequestTopic(name=name) for name in names]
            request = MetadataRequest(topics=rows, allow_auto_topic_creation=auto_create)
            connection = await self.any_connection()
            version = connection.version_of(MetadataRequest, lowest=_METADATA_VERSION_MIN)
            response = await connection.request(request, MetadataResponse, version=version)
            raise_for(response.error_code)
            self.metadata.update(response, is_complete=names is None)
            now_s = self.now_s()
            self._topic_times_s |= {row.name: now_s for row in response.topics if row.name is not None}
            self._adopt_bootstrap_connection()

    def _adopt_bootstrap_connection(self) -> None:
        """Give the bootstrap connection to the broker that announces the same address."""
        connection = self._connections.get((_BOOTSTRAP_NODE, ""))
        if connection is None:
            return
        for node in self.metadata.nodes.values():
            if node.address == connection.address and (node.node_id, "") not in self._connections:
                self._connections[node.node_id, ""] = self._connections.pop((_BOOTSTRAP_NODE, ""))
                return

    async def topic(self, name: str, *, auto_create: bool = False) -> TopicInfo:
        """A topic as far as it is known, asked for if it is not, or not lately; its error is raised."""
        known = self.metadata.topics.get(name)
        age_s = self.now_s() - self._topic_times_s.get(name, float("-inf"))
        if known is None or known.error is not None or age_s * 1000 > self.settings.metadata_max_age_ms:
            await self.refresh((name,), auto_create=auto_create)
            known = self.metadata.topics.get(name)
        if known is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
        if known.error is not None:
            raise _name_topic(known.error, name)
        return known

    async def leader(self, partition: TopicPartition) -> Node:
        """Find the broker that leads a partition; asks the cluster if it is not known."""
        topic = await self.topic(partition.topic)
        node = self.metadata.leader(partition)
        if node is None:
            await self.refresh((partition.topic,))
            topic = await self.topic(partition.topic)
            node = self.metadata.leader(partition)
        if partition.partition not in topic.partitions:
            count = len(topic.partitions)
            text = f"topic {partition.topic!r} has no partition {partition.partition}: it has {count}, from 0"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
        if node is None:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {partition} has no leader at the moment")
        return node

    # Coordinators.

    async def coordinator(self, key: str, kind: CoordinatorKind = CoordinatorKind.GROUP) -> Node:
        """Find the broker that coordinates a group or a transactional id."""
        node = self.metadata.nodes.get(self._coordinators.get((kind, key), -1))
        if node is not None:
            return node
        connection = await self.any_connection()
        version = connection.version_of(FindCoordinatorRequest)
        request = FindCoordinatorRequest(key=key, key_type=kind, coordinator_keys=[key])
        response = await connection.request(request, FindCoordinatorResponse, version=version)
        found = response.coordinators[0] if version >= 4 else response
        if error := error_of(found.error_code, found.error_message):
            raise error
        node = Node(found.node_id, Address(found.host, found.port))
        self.metadata.nodes.setdefault(node.node_id, node)
        self._coordinators[kind, key] = node.node_id
        return node

    async def coordinator_connection(self, key: str, kind: CoordinatorKind = CoordinatorKind.GROUP) -> Connection:
        return await self.connection((await self.coordinator(key, kind)).node_id)

    def forget_coordinator(self, key: str, kind: CoordinatorKind = CoordinatorKind.GROUP) -> None:
        """Look the coordinator up again next time: it has moved, or does not answer."""
        self._coordinators.pop((kind, key), None)

    # Retries.

    def tell_retry(self, what: str, error: ClientError, *, since_s: float, until_s: float | None = None) -> None:
        """Report that something has failed since one time and will be tried again until another."""
        if self.settings.on_retry is not None:
            now_s = self.now_s()
            left_s = None if until_s is None else max(0.0, until_s - now_s)
            self.settings.on_retry(Retry(what, error, now_s - since_s, left_s))

    async def retry(
        self,
        call: Callable[[], Awaitable[T]],
        *,
        what: str,
        timeout_ms: float | None = None,
        coordinates: str | None = None,
        kind: CoordinatorKind = CoordinatorKind.GROUP,
        may_retry: Callable[[ClientError], bool] = is_retriable,
        policy: RetryPolicy | None = None,
    ) -> T:
        """Call until it works, fails for good, or runs out of time; `coordinates` says whose coordinator is asked."""
        since_s = self.now_s()
        deadline = Deadline.after(self.settings.call_timeout_ms if timeout_ms is None else timeout_ms, since_s)
        attempt = 0
        last: ClientError | None = None
        while True:
            try:
                async with asyncio.timeout_at(deadline.at_s):
                    return await call()
            except TimeoutError:
                reason = last or "no answer came"
                raise RequestTimedOut(f"{what} did not succeed within {deadline.budget_ms:g} ms: {reason}") from last
            except ClientError as error:
                if not may_retry(error):
                    raise
                last = error
            if coordinates is not None and needs_coordinator(last):
                self.forget_coordinator(coordinates, kind)
            delay_s = (policy or self.settings.retry).delay_ms(attempt, self.machine.random()) / 1000
            if delay_s >= deadline.left_s(self.now_s()):
                raise last
            self.tell_retry(what, last, since_s=since_s, until_s=deadline.at_s)
            await asyncio.sleep(delay_s)
            attempt += 1
            if needs_metadata(last):
                with contextlib.suppress(ClientError, TimeoutError):
                    async with asyncio.timeout_at(deadline.at_s):
                        await self.refresh(())


def _name_topic(error: KafkaError, topic: str) -> KafkaError:
    if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return KafkaError(error.code, f"there is no topic {topic!r}")
    return KafkaError(error.code, f"topic {topic!r}: {error.message}")
