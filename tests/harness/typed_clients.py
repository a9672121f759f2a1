"""Clients that write values with a schema and read them by it, each with its own registry library."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from harness.agents import SOURCES, Agent
from harness.clients.confluent import ConfluentKafka
from harness.confluent_registry import blocking
from harness.downloads import downloaded
from harness.typed_topic import TypedTopic


class TypedClient(ABC):
    name: ClassVar[str]

    @abstractmethod
    def write(self, topic: str, kind: str, schema: str, values: Sequence[Any]) -> None:
        """Registers the schema for the topic's values, and sends them."""

    @abstractmethod
    def read(self, topic: str, kind: str, count: int) -> list[Any]:
        """The first values of a topic, each by the schema that it names."""

    @abstractmethod
    def close(self) -> None: ...


class ConfluentPython(TypedClient):
    """confluent-kafka."""

    name = "confluent-kafka"

    def __init__(self, bootstrap: str, registry_url: str) -> None:
        self._kafka = ConfluentKafka(bootstrap)
        self._registry_url = registry_url

    def write(self, topic: str, kind: str, schema: str, values: Sequence[Any]) -> None:
        with blocking(self._registry_url) as registry:
            TypedTopic(self._kafka, topic).send(registry.serializer(kind, schema), *values)

    def read(self, topic: str, kind: str, count: int) -> list[Any]:
        with blocking(self._registry_url) as registry:
            return TypedTopic(self._kafka, topic).receive(registry.deserializer(kind), count)

    def close(self) -> None:
        self._kafka.close()


class RemoteTypedClient(TypedClient):
    """A client in another language, in a process of its own."""

    def __init__(self, bootstrap: str, registry_url: str) -> None:
        self._agent = self._start(bootstrap, registry_url)

    @abstractmethod
    def _start(self, bootstrap: str, registry_url: str) -> Agent: ...

    def write(self, topic: str, kind: str, schema: str, values: Sequence[Any]) -> None:
        self._agent.call("write", topic=topic, kind=kind, schema=schema, values=list(values))

    def read(self, topic: str, kind: str, count: int) -> list[Any]:
        found: list[Any] = self._agent.call("read", topic=topic, kind=kind, count=count)
        return found

    def close(self) -> None:
        self._agent.close()


def _start_node(library: str, bootstrap: str, registry_url: str) -> Agent:
    modules = {"NODE_PATH": str(downloaded("registry-js") / "node_modules"), "KAFKAJS_NO_PARTITIONER_WARNING": "1"}
    program = str(SOURCES / "js" / "typed_agent.js")
    return Agent(["node", program, library, bootstrap, registry_url], {**os.environ, **modules})


class KafkaJsTyped(RemoteTypedClient):
    """@kafkajs/confluent-schema-registry."""

    name = "kafkajs"

    def _start(self, bootstrap: str, registry_url: str) -> Agent:
        return _start_node("kafkajs", bootstrap, registry_url)


class ConfluentJavaScript(RemoteTypedClient):
    """@confluentinc/schemaregistry; its records travel by kafkajs."""

    name = "confluent-javascript"

    def _start(self, bootstrap: str, registry_url: str) -> Agent:
        return _start_node("confluent", bootstrap, registry_url)


class FranzGo(RemoteTypedClient):
    """franz-go with its `sr`."""

    name = "franz-go"

    def _start(self, bootstrap: str, registry_url: str) -> Agent:
        return Agent([str(downloaded("registry-go") / "typed-agent"), bootstrap, registry_url])


TYPED_CLIENTS: dict[str, Callable[[str, str], TypedClient]] = {
    kind.name: kind for kind in (ConfluentPython, KafkaJsTyped, ConfluentJavaScript, FranzGo)
}
