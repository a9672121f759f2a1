"""The registries that are compared, as their users would run them, each on a node of Ottla."""

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import httpx

from bench.servers import Bed
from harness.apicurio import MEMORY, ApicurioProcess, on_kafka
from harness.registries import RegistryProcess
from harness.waiting import eventually

APICURIO, APICURIO_MEMORY, OTTLA = "apicurio", "apicurio-memory", "ottla"
NodeAddress = str
RegistryKind = ApicurioProcess | RegistryProcess

KINDS: dict[str, Callable[[Path, NodeAddress], RegistryKind]] = {
    APICURIO: lambda home, bootstrap: ApicurioProcess(home, on_kafka(bootstrap)),
    APICURIO_MEMORY: lambda home, bootstrap: ApicurioProcess(home, MEMORY),  # noqa: ARG005
    OTTLA: lambda home, bootstrap: RegistryProcess(home, bootstrap, {"kafkastore.topic.replication.factor": "1"}),
}
SCHEMAS = 1000
SCHEMA = '{"type":"record","name":"R%d","fields":[{"name":"id","type":"long"},{"name":"customer","type":"string"}]}'


class Contenders:
    """Those that are up, with a thousand schemas each; what they wrote goes with them."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._up: dict[str, RegistryKind] = {}
        self._ids: dict[str, list[int]] = {}
        self._numbers = itertools.count()

    def new(self, kind: str, bed: Bed) -> RegistryKind:
        """One that is not started yet."""
        return KINDS[kind](self._home / f"{kind}-{next(self._numbers)}", bed.bootstrap)

    def get(self, kind: str, bed: Bed) -> RegistryKind:
        if kind not in self._up:
            registry = self.new(kind, bed)
            registry.start()
            self._up[kind] = registry
            self._ids[kind] = fill(registry.url)
        return self._up[kind]

    def ids(self, kind: str) -> list[int]:
        return self._ids[kind]

    def close(self) -> None:
        for registry in self._up.values():
            registry.kill()
            shutil.rmtree(registry.home)
        self._up.clear()


def fill(url: str) -> list[int]:
    """Registers a thousand schemas; their ids."""
    with httpx.Client(base_url=url, timeout=60.0) as client:

        def is_led() -> bool:
            return client.post("/subjects/first/versions", json={"schema": '"string"'}).is_success

        eventually(is_led, timeout_s=60.0)
        return [_register(client, number) for number in range(SCHEMAS)]


def _register(client: httpx.Client, number: int) -> int:
    answer = client.post(f"/subjects/bench-{number}/versions", json={"schema": SCHEMA % number}).raise_for_status()
    return int(answer.json()["id"])
