"""The rows: requests to running registries, and their life."""

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

import httpx

from bench.process import cpu_seconds, resident_megabytes
from bench.registry.contenders import KINDS, OTTLA, Contenders, RegistryKind
from bench.registry.loaded_topic import write_schemas
from bench.registry.requests import READS, REGISTRATIONS, Answered, read_schemas, register_schemas
from bench.row import Measure, Measured, Metrics, Row, scaled
from bench.servers import Beds
from harness.registries import RegistryProcess
from harness.waiting import eventually

LOAD_S = 10.0
LOADED_SCHEMAS = 100_000
UP_TIMEOUT_S = 300.0


class RegistryRow(Row):
    def __init__(
        self,
        contenders: Contenders,
        name: str,
        title: str,
        command: str,
        wanted: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(name, title, command, wanted)
        self._contenders = contenders

    def kinds(self, servers: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        return list(KINDS)


class RunningRow(RegistryRow):
    """Registries that are up together."""

    @contextmanager
    def open(self, beds: Beds, kind: str, scale: float) -> Iterator[Measure]:
        registry = self._contenders.get(kind, beds.get("ottla", {}))
        yield lambda: Measured(self._measure(registry, kind, scale))

    @abstractmethod
    def _measure(self, registry: RegistryKind, kind: str, scale: float) -> Metrics: ...


class RequestRow(RunningRow):
    """A load of one kind of request."""

    # A JVM needs some.
    warm_ups = 2

    def _measure(self, registry: RegistryKind, kind: str, scale: float) -> Metrics:
        before_s = cpu_seconds(registry.pid)
        answered = self._load(registry, kind, LOAD_S * scale)
        cpu_s = cpu_seconds(registry.pid) - before_s
        return {
            "requests": answered.requests / answered.seconds,
            "request_cpu_us": cpu_s / answered.requests * 1e6,
            "p99_ms": answered.p99_ms,
        }

    @abstractmethod
    def _load(self, registry: RegistryKind, kind: str, seconds: float) -> Answered: ...


class ReadRow(RequestRow):
    def _load(self, registry: RegistryKind, kind: str, seconds: float) -> Answered:
        return read_schemas(registry.url, self._contenders.ids(kind), seconds)


class RegistrationRow(RequestRow):
    def _load(self, registry: RegistryKind, kind: str, seconds: float) -> Answered:  # noqa: ARG002
        return register_schemas(registry.url, seconds)


class MemoryRow(RunningRow):
    """After loads of both kinds, those of the rows before included."""

    warm_ups = 0

    def _measure(self, registry: RegistryKind, kind: str, scale: float) -> Metrics:
        read_schemas(registry.url, self._contenders.ids(kind), LOAD_S * scale / 2)
        register_schemas(registry.url, LOAD_S * scale / 2)
        return {"registry_mb": resident_megabytes(registry.pid)}


class StartRow(RegistryRow):
    """From the start of the process to its first answer, with nothing to read."""

    is_alone = True

    @contextmanager
    def open(self, beds: Beds, kind: str, scale: float) -> Iterator[Measure]:  # noqa: ARG002
        self._contenders.close()
        registry = self._contenders.new(kind, beds.get("ottla", {}))

        def measure() -> Measured:
            try:
                return Measured({"answer_s": time_until_answer(registry, "/subjects")})
            finally:
                registry.stop()

        yield measure


class LoadedRow(RegistryRow):
    """A registry that finds very many schemas in its topic. Apicurio's topic has records of its own kind."""

    is_alone = True
    at_most: Mapping[str, float] = MappingProxyType({"loaded_s": 15.0})

    def kinds(self, servers: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        return [OTTLA]

    @contextmanager
    def open(self, beds: Beds, kind: str, scale: float) -> Iterator[Measure]:
        self._contenders.close()
        bed = beds.get("ottla", {})
        schemas = scaled(LOADED_SCHEMAS, scale, 100)
        with bed.topic(1, {"cleanup.policy": "compact"}) as topic:
            write_schemas(bed.bootstrap, topic, schemas)
            registry = self._contenders.new(kind, bed)
            assert isinstance(registry, RegistryProcess)
            registry.settings["kafkastore.topic"] = topic

            def measure() -> Measured:
                try:
                    loaded_s = time_until_answer(registry, f"/schemas/ids/{schemas}")
                    return Measured({"loaded_s": loaded_s, "registry_mb": resident_megabytes(registry.pid)})
                finally:
                    registry.stop()

            yield measure


def time_until_answer(registry: RegistryKind, path: str) -> float:
    started_s = time.monotonic()
    registry.launch()
    with httpx.Client(base_url=registry.url, timeout=UP_TIMEOUT_S) as client:

        def answers() -> bool:
            try:
                return client.get(path).is_success
            except httpx.ConnectError:
                return False

        eventually(answers, timeout_s=UP_TIMEOUT_S)
    return time.monotonic() - started_s


def rows(contenders: Contenders) -> list[Row]:
    return [
        ReadRow(contenders, "reads", "schemas by id", READS, {"requests": 1, "request_cpu_us": 1}),
        RegistrationRow(
            contenders, "registrations", "new schemas", REGISTRATIONS, {"requests": 1, "request_cpu_us": 1}
        ),
        MemoryRow(contenders, "memory", "memory after the loads", "both loads for half the time", {"registry_mb": 2}),
        StartRow(contenders, "start", "start", "GET /subjects, every 50 ms until it is answered", {"answer_s": 5}),
        LoadedRow(contenders, "loaded", f"start with {LOADED_SCHEMAS:,} schemas", "GET /schemas/ids/100000"),
    ]
