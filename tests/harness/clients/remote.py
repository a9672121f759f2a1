"""Clients in other languages: the contract, spoken to an agent."""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from harness.agents import Agent
from harness.clients.contract import (
    HEARTBEAT_INTERVAL_MS,
    SESSION_TIMEOUT_MS,
    UNCOMMITTED,
    Client,
    Member,
    Received,
    Record,
    TransactionalProducer,
)


def to_text(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def from_text(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


def to_json(record: Record) -> dict[str, Any]:
    return {
        "key": to_text(record.key),
        "value": to_text(record.value),
        "headers": [[name, to_text(value)] for name, value in record.headers],
        "timestamp_ms": record.timestamp_ms,
    }


def from_json(answer: Mapping[str, Any]) -> Received:
    headers = tuple((name, from_text(value)) for name, value in answer["headers"])
    record = Record(from_text(answer["value"]), from_text(answer["key"]), headers, answer["timestamp_ms"])
    return Received(record, answer["partition"], answer["offset"])


class RemoteMember(Member):
    def __init__(self, agent: Agent, **arguments: object) -> None:
        self._agent = agent
        self._member = agent.call("member_start", **arguments)

    def assignment(self) -> frozenset[int]:
        return frozenset(self._agent.call("member_look", member=self._member)["assignment"])

    def revocations(self) -> int:
        return int(self._agent.call("member_look", member=self._member)["revocations"])

    def close(self) -> None:
        self._agent.call("member_close", member=self._member)


class RemoteTransactionalProducer(TransactionalProducer):
    def __init__(self, agent: Agent, transactional_id: str, timeout_ms: int) -> None:
        self._agent = agent
        self._producer = agent.call("transactions_open", transactional_id=transactional_id, timeout_ms=timeout_ms)

    def begin(self) -> None:
        self._agent.call("transactions_begin", producer=self._producer)

    def send(self, topic: str, partition: int, *values: bytes) -> None:
        self._agent.call(
            "transactions_send",
            producer=self._producer,
            topic=topic,
            partition=partition,
            values=[to_text(value) for value in values],
        )

    def send_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        self._agent.call(
            "transactions_send_offset",
            producer=self._producer,
            group=group,
            topic=topic,
            partition=partition,
            offset=offset,
        )

    def commit(self) -> None:
        self._agent.call("transactions_commit", producer=self._producer)

    def abort(self) -> None:
        self._agent.call("transactions_abort", producer=self._producer)

    def close(self) -> None:
        self._agent.call("transactions_close", producer=self._producer)


class RemoteClient(Client):
    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self.agent = self.start_agent()

    def start_agent(self) -> Agent:
        raise NotImplementedError

    def close(self) -> None:
        self.agent.close()

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
        self.agent.call(
            "produce",
            topic=topic,
            records=[to_json(record) for record in records],
            partition=partition,
            acks=acks,
            codec=codec,
            idempotent=idempotent,
        )

    def read(
        self, topic: str, partition: int, offset: int, count: int, *, isolation: str = UNCOMMITTED
    ) -> list[Received]:
        answer = self.agent.call(
            "read", topic=topic, partition=partition, offset=offset, count=count, isolation=isolation
        )
        return [from_json(record) for record in answer]

    def consume(self, topic: str, group: str, count: int) -> list[Received]:
        return [from_json(record) for record in self.agent.call("consume", topic=topic, group=group, count=count)]

    def transactional_producer(self, transactional_id: str, *, timeout_ms: int = 60_000) -> TransactionalProducer:
        return RemoteTransactionalProducer(self.agent, transactional_id, timeout_ms)

    def member(self, topic: str, group: str, *, instance_id: str | None = None, cooperative: bool = False) -> Member:
        return RemoteMember(
            self.agent,
            topic=topic,
            group=group,
            instance_id=instance_id,
            cooperative=cooperative,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            session_timeout_ms=SESSION_TIMEOUT_MS,
        )

    def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        found: int | None = self.agent.call("offset_at", topic=topic, partition=partition, timestamp_ms=timestamp_ms)
        return found

    def committed(self, group: str, topic: str, partition: int) -> int | None:
        found: int | None = self.agent.call("committed", group=group, topic=topic, partition=partition)
        return found

    def create_topic(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        self.agent.call("create_topic", topic=topic, partitions=partitions, configs=dict(configs))

    def delete_topic(self, topic: str) -> None:
        self.agent.call("delete_topic", topic=topic)

    def topics(self) -> dict[str, int]:
        return dict(self.agent.call("topics"))

    def add_partitions(self, topic: str, total: int) -> None:
        self.agent.call("add_partitions", topic=topic, total=total)

    def topic_config(self, topic: str, name: str) -> str:
        return str(self.agent.call("topic_config", topic=topic, name=name))

    def set_topic_config(self, topic: str, name: str, value: str) -> None:
        self.agent.call("set_topic_config", topic=topic, name=name, value=value)

    def groups(self) -> set[str]:
        return set(self.agent.call("groups"))

    def describe_group(self, group: str) -> tuple[str, int]:
        state, members = self.agent.call("describe_group", group=group)
        return state, members

    def delete_group(self, group: str) -> None:
        self.agent.call("delete_group", group=group)

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        self.agent.call("delete_records", topic=topic, partition=partition, before_offset=before_offset)
