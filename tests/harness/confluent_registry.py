"""Confluent's own Python client of registries and its serializers: the blocking face and the asynchronous one."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from confluent_kafka.schema_registry import AsyncSchemaRegistryClient, SchemaRegistryClient
from confluent_kafka.schema_registry._async.avro import AsyncAvroDeserializer, AsyncAvroSerializer
from confluent_kafka.schema_registry._async.json_schema import AsyncJSONDeserializer, AsyncJSONSerializer
from confluent_kafka.schema_registry._async.protobuf import AsyncProtobufDeserializer, AsyncProtobufSerializer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer


class ConfluentRegistry(ABC):
    """`client` and what is made here are called without waiting, whatever they are."""

    # Of each format: what serializes, and what deserializes.
    kinds: ClassVar[Mapping[str, tuple[Any, Any]]]

    def __init__(self, raw_client: Any) -> None:
        self._raw_client = raw_client

    @property
    @abstractmethod
    def client(self) -> Any: ...

    @abstractmethod
    def _make(self, kind: Any, *arguments: Any, **named: Any) -> Callable[..., Any]: ...

    def serializer(self, kind: str, schema: Any, conf: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        """`schema` is a text or a Schema, and with Protobuf the class of the messages."""
        made, conf = self.kinds[kind][0], dict(conf or {})
        if kind == "AVRO":
            return self._make(made, self._raw_client, schema, conf=conf)
        return self._make(made, schema, self._raw_client, conf=conf)

    def deserializer(self, kind: str, schema: Any = None, conf: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        made, conf = self.kinds[kind][1], dict(conf or {})
        if kind == "AVRO":
            return self._make(made, self._raw_client, schema, conf=conf)
        if kind == "JSON":
            return self._make(made, schema, schema_registry_client=self._raw_client, conf=conf)
        return self._make(made, schema, conf, self._raw_client)


class BlockingRegistry(ConfluentRegistry):
    kinds: ClassVar = {
        "AVRO": (AvroSerializer, AvroDeserializer),
        "JSON": (JSONSerializer, JSONDeserializer),
        "PROTOBUF": (ProtobufSerializer, ProtobufDeserializer),
    }

    @property
    def client(self) -> SchemaRegistryClient:
        assert isinstance(self._raw_client, SchemaRegistryClient)
        return self._raw_client

    def _make(self, kind: Any, *arguments: Any, **named: Any) -> Callable[..., Any]:
        made: Callable[..., Any] = kind(*arguments, **named)
        return made


class Awaited:
    """Something that has to be awaited, called as if it had not."""

    def __init__(self, wrapped: Any, runner: asyncio.Runner) -> None:
        self._wrapped = wrapped
        self._runner = runner

    def __getattr__(self, name: str) -> "Awaited":
        return Awaited(getattr(self._wrapped, name), self._runner)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        async def call() -> Any:
            answer = self._wrapped(*arguments, **named)
            return await answer if asyncio.iscoroutine(answer) else answer

        return self._runner.run(call())


class AsynchronousRegistry(ConfluentRegistry):
    kinds: ClassVar = {
        "AVRO": (AsyncAvroSerializer, AsyncAvroDeserializer),
        "JSON": (AsyncJSONSerializer, AsyncJSONDeserializer),
        "PROTOBUF": (AsyncProtobufSerializer, AsyncProtobufDeserializer),
    }

    def __init__(self, raw_client: AsyncSchemaRegistryClient, runner: asyncio.Runner) -> None:
        super().__init__(raw_client)
        self._runner = runner

    @property
    def client(self) -> Awaited:
        return Awaited(self._raw_client, self._runner)

    def _make(self, kind: Any, *arguments: Any, **named: Any) -> Callable[..., Any]:
        return Awaited(Awaited(kind, self._runner)(*arguments, **named), self._runner)


@contextmanager
def blocking(url: str) -> Iterator[ConfluentRegistry]:
    with SchemaRegistryClient({"url": url}) as client:
        yield BlockingRegistry(client)


@contextmanager
def asynchronous(url: str) -> Iterator[ConfluentRegistry]:
    with asyncio.Runner() as runner:
        client = AsyncSchemaRegistryClient({"url": url})
        yield AsynchronousRegistry(client, runner)
        runner.run(client.aclose())


FACES = {"blocking": blocking, "asynchronous": asynchronous}
