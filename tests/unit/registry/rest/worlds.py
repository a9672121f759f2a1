"""A registry with some of everything, for tests that ask one thing each."""

from __future__ import annotations

from functools import cache
from typing import Any

from ottla.registry.scopes import Defaults
from ottla.registry.state import RegistryState
from ottla.registry.stored_schema import StoredSchema
from ottla.schemas.schema import Reference, Schema
from unit.registry.rest.apis import Api, InMemory, record, schema

PROTO = 'syntax = "proto3";\n\nmessage Order {\n  int32 id = 1;\n}\n'
REFERENCE = {"name": "Order", "subject": "orders", "version": 2}
REFERRING = '{"type":"array","items":"Order"}'
RULES = {"domainRules": [{"name": "r", "type": "CEL", "kind": "CONDITION", "mode": "WRITE"}]}
# Records of another registry: one refers to what never was there, one to what is deleted.
BROKEN = StoredSchema(
    "broken",
    1,
    501,
    Schema('{"type":"array","items":"Gone"}', references=(Reference("Gone", "vanished", 1),)),
    metadata={"properties": {"k": "v"}},
)
VESTIGE = StoredSchema("vestige", 1, 502, Schema(record("x", name="Vestige")), is_deleted=True)
CLINGING = StoredSchema(
    "clinging",
    1,
    503,
    Schema('{"type":"array","items":"Vestige"}', references=(Reference("Vestige", "vestige", 1),)),
)


@cache
def state_of_the_world() -> RegistryState:
    api = Api()

    def register(subject: str, text: str, **more: Any) -> None:
        api.must("POST", f"/subjects/{subject}/versions", schema(text, **more))

    register("orders", record("id"))
    register("orders", record("id", "note?"))
    register("referring", REFERRING, references=[REFERENCE])
    register("owned", record("id"), metadata={"properties": {"owner": "me"}}, ruleSet=RULES)
    register("proto", PROTO, schemaType="PROTOBUF")
    register("json", '{"type":"object"}', schemaType="JSON")
    register("half", record("id"))
    register("half", record("id", "note?"))
    api.must("DELETE", "/subjects/half/versions/1")
    register("gone", record("id"))
    api.must("DELETE", "/subjects/gone")
    register("locked", record("id"))
    api.must("PUT", "/config/locked", {"compatibility": "FULL"})
    api.must("PUT", "/mode/locked", {"mode": "READONLY"})
    register("lockedgone", record("id"))
    api.must("DELETE", "/subjects/lockedgone")
    register("base", record("x", name="Base"))
    register("user", '{"type":"array","items":"Base"}', references=[{"name": "Base", "subject": "base", "version": 1}])
    register(":.empty:a", record("id"))
    api.must("DELETE", "/subjects/:.empty:a")
    api.must("DELETE", "/subjects/:.empty:a?permanent=true")
    register(":.c:orders", record("id", name="Other"))
    api.must("PUT", "/config/nick", {"alias": "orders"})
    state = api.memory.state
    for stored in (BROKEN, VESTIGE, CLINGING):
        state = state.apply(stored.to_record())
    return state


def world(defaults: Defaults | None = None) -> Api:
    """States never change, so all tests begin with the same one."""
    return Api(InMemory(state_of_the_world(), defaults))
