"""The API over a registry that has nobody to agree with, as clients meet it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx

from ottla.registry.change import Change
from ottla.registry.errors import RegistryError
from ottla.registry.identity import schema_guid
from ottla.registry.leading import encode_records
from ottla.registry.parsing import SchemaReader
from ottla.registry.registration import Parse
from ottla.registry.rest.app import make_app
from ottla.registry.scopes import Defaults
from ottla.registry.state import RegistryState
from ottla.schemas.schema import Schema
from unit.registry.registries import Registry

BODY_BYTES_MAX = 100_000
RECORD_BYTES_MAX = 50_000


class InMemory:
    """Decides, and reads what it has written, as an instance that leads does."""

    def __init__(self, state: RegistryState | None = None, defaults: Defaults | None = None) -> None:
        self.registry = Registry(state or RegistryState(), defaults or Defaults())
        self.reader = SchemaReader()
        self.cluster_id = "a-cluster"
        self.group_id = "schema-registry"
        self.is_leading = True
        self.leader_url: str | None = None
        self.look_count = 0
        # What the cluster answers to changes, if it takes none.
        self.fault: RegistryError | None = None

    @property
    def state(self) -> RegistryState:
        return self.registry.state

    @property
    def defaults(self) -> Defaults:
        return self.registry.defaults

    async def refresh(self) -> None:
        """There is nobody else who writes."""
        self.look_count += 1

    async def write(self, decide: Callable[[RegistryState], Change[Any]]) -> Any:
        change = await asyncio.to_thread(decide, self.state)
        encode_records(change.records, RECORD_BYTES_MAX)
        if self.fault is not None:
            raise self.fault
        return self.registry.carry_out(change)

    def parser(self, state: RegistryState) -> Parse:
        return partial(self.reader.read, state)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: httpx.Headers
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)


class Api:
    def __init__(self, memory: InMemory | None = None, leader: httpx.AsyncBaseTransport | None = None) -> None:
        """`leader` reaches the instance that leads, if it is another one."""
        self.memory = memory or InMemory()
        self._leader = leader

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        answer = self.send(method, path, body, **options)
        return answer.status, answer.body if answer.content else None

    def send(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        async def send() -> Answer:
            # Certificates would take longer to load than everything else takes.
            transport = self._leader or httpx.AsyncHTTPTransport(verify=False)
            async with httpx.AsyncClient(transport=transport) as to_leader:
                app = make_app(self.memory, to_leader, body_bytes_max=BODY_BYTES_MAX)
                to_app = httpx.ASGITransport(app=app, raise_app_exceptions=False)
                async with httpx.AsyncClient(transport=to_app, base_url="http://registry") as client:
                    given = options if body is None else {"json": body, **options}
                    response = await client.request(method, path, **given)
                    return Answer(response.status_code, response.headers, response.content)

        return asyncio.run(send())

    def must(self, method: str, path: str, body: Any = None) -> Any:
        """The answer to a request that prepares others."""
        status, answer = self.ask(method, path, body)
        assert status in (200, 204), answer
        return answer


# -- schemas ----------------------------------------------------------------------------------------------------------


def record(*fields: str, name: str = "Order", **more: Any) -> str:
    """An Avro record of integers; a field that ends with `?` has a default."""
    listed = [
        {"name": one.rstrip("?"), "type": "int", **({"default": 0} if one.endswith("?") else {})} for one in fields
    ]
    return json.dumps({"type": "record", "name": name, "fields": listed, **more}, separators=(",", ":"))


def schema(text: str, **more: Any) -> dict[str, Any]:
    return {"schema": text, **more}


def registered(schema_id: int, asked: dict[str, Any]) -> dict[str, Any]:
    """The answer to a registration that inherits nothing."""
    return {"id": schema_id, "guid": str(schema_guid(Schema(asked["schema"]), None, None))}
