"""Whatever a body says, the answer is one of the API's: JSON with a code of the request, and never a fault of ours."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.registry.records import DamagedRecord, decode_record
from ottla.registry.rest.endpoints import ENDPOINTS, Endpoint
from ottla.registry.state import RegistryState
from ottla.schemas.references import DEPTH_MAX
from ottla.schemas.schema import SchemaType
from unit.registry.rest.apis import Answer, Api, InMemory, record, schema
from unit.registry.rest.worlds import PROTO, REFERENCE, RULES, world

WITH_BODY = [one for one in ENDPOINTS if one.has_body]
# Names that mean something in some body, and texts that do.
NAMES = st.sampled_from(
    [
        *("schema", "schemaType", "references", "metadata", "ruleSet", "id", "version", "name", "subject"),
        *("compatibility", "compatibilityLevel", "alias", "normalize", "compatibilityGroup", "mode"),
        *(
            "defaultMetadata",
            "overrideMetadata",
            "defaultRuleSet",
            "overrideRuleSet",
            "tags",
            "properties",
            "sensitive",
        ),
        *("domainRules", "migrationRules", "encodingRules", "kind", "type", "params", "disabled", "onFailure", "expr"),
        *("tagsToAdd", "tagsToRemove", "schemaEntity", "entityPath", "entityType", "newVersion", "rulesToMerge"),
        *("rulesToRemove", "fields", "items", "default", "symbols", "$ref", "properties"),
    ]
)
TEXTS = st.sampled_from(
    [
        *("", " ", "\0", "\u2028", "AVRO", "JSON", "PROTOBUF", "FULL", "IMPORT", "READONLY", "sr_field", "sr_record"),
        *("orders", ":.c:orders", "Order", "Order.id", "object", "CEL", "WRITE", "{", "null", '"int"', PROTO),
        record("id"),
        '{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}',
        '{"type":"record","name":"R","fields":[{"name":"r","type":"R","default":{}}]}',
    ]
) | st.text(max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | TEXTS, inner, max_size=5),
    max_leaves=9,
)
REGISTRATIONS = st.fixed_dictionaries(
    {"schema": TEXTS},
    optional={
        "schemaType": st.sampled_from(list(SchemaType)) | SCALARS,
        "references": st.lists(st.just(REFERENCE) | VALUES, max_size=2),
        "metadata": VALUES,
        "ruleSet": st.just(RULES) | VALUES,
        "id": st.integers(-5, 600) | SCALARS,
        "version": st.integers(-5, 5) | SCALARS,
    },
)
BODIES = VALUES | st.dictionaries(NAMES, VALUES, max_size=6) | REGISTRATIONS


def name_of(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


def check(answer: Answer, endpoint: Endpoint) -> None:
    assert answer.status < 500, answer.content
    body = answer.body
    if answer.status != 200:
        assert set(body) == {"error_code", "message"}
        assert body["error_code"] in endpoint.all_codes
        assert str(body["error_code"]).startswith(str(answer.status))
        assert "Traceback" not in body["message"]


@pytest.mark.parametrize("endpoint", WITH_BODY, ids=name_of)
@settings(max_examples=50, deadline=None)
@given(body=BODIES)
def test_any_json_has_an_answer(endpoint: Endpoint, body: Any) -> None:
    api = world()
    path = endpoint.path.format(subject="orders", version="latest")
    check(api.send(endpoint.method, path, content=json.dumps(body).encode()), endpoint)
    # What was taken can be shown, and read again.
    assert api.send("GET", "/schemas?deleted=true").status == 200
    assert api.send("GET", "/config/orders?defaultToGlobal=true").status == 200
    for key, value in api.memory.registry.written:
        decode_record(key, value)
    check(api.send("POST", "/subjects/orders/versions", schema(record("id"))), REGISTER)


@pytest.mark.parametrize("endpoint", WITH_BODY, ids=name_of)
@settings(max_examples=30, deadline=None)
@given(content=st.binary(max_size=50))
def test_any_bytes_have_an_answer(endpoint: Endpoint, content: bytes) -> None:
    check(world().send(endpoint.method, endpoint.path.format(subject="a", version=1), content=content), endpoint)


(REGISTER,) = (one for one in ENDPOINTS if one.path == "/subjects/{subject}/versions" and one.has_body)


@settings(max_examples=60, deadline=None)
@given(subject=st.text(min_size=1, max_size=10), version=st.text(min_size=1, max_size=10), query=st.text(max_size=10))
def test_any_names_have_an_answer(subject: str, version: str, query: str) -> None:
    api = world()
    for path in ("/subjects/{s}/versions/{v}", "/config/{s}", "/schemas/ids/{v}", "/schemas/guids/{v}", "/{s}/{v}"):
        asked = path.format(s=quote(subject, safe=""), v=quote(version, safe=""))
        answer = api.send("GET", f"{asked}?limit={quote(query)}&format={quote(query)}&subject={quote(query)}")
        assert answer.status < 500, answer.content
        assert set(answer.body) >= ({"error_code", "message"} if answer.status != 200 else set())


# -- references -------------------------------------------------------------------------------------------------------


def test_references_that_are_too_deep_or_lead_in_a_circle_are_told() -> None:
    api = Api()
    for depth in range(DEPTH_MAX + 2):
        below = [{"name": f"R{depth - 1}", "subject": f"s{depth - 1}", "version": 1}] if depth else []
        inner = f"R{depth - 1}" if depth else "int"
        text = json.dumps({"type": "record", "name": f"R{depth}", "fields": [{"name": "f", "type": inner}]})
        status, answer = api.ask("POST", f"/subjects/s{depth}/versions", schema(text, references=below))
        if depth <= DEPTH_MAX:
            assert status == 200, answer
    assert (status, answer["error_code"]) == (422, 42201)
    assert f"deeper than {DEPTH_MAX}" in answer["message"]


def test_a_circle_in_the_topic_is_told() -> None:
    state = RegistryState()
    for name, other in (("a", "b"), ("b", "a")):
        key = json.dumps({"keytype": "SCHEMA", "subject": name, "version": 1, "magic": 1}).encode()
        reference = {"name": other, "subject": other, "version": 1}
        text = json.dumps({"type": "record", "name": name, "fields": [{"name": "f", "type": other}]})
        value = {"subject": name, "version": 1, "id": ord(name), "schema": text, "references": [reference]}
        state = state.apply(decode_record(key, json.dumps(value).encode()))
    api = Api(InMemory(state))
    status, answer = api.ask("GET", "/subjects/a/versions/1?format=resolved")
    assert (status, answer["error_code"]) == (422, 42201)
    assert "circle" in answer["message"]
    assert api.ask("POST", "/compatibility/subjects/a/versions", schema(record("id")))[1]["error_code"] == 42201


# -- records ----------------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(
    kind=st.sampled_from(["SCHEMA", "CONFIG", "MODE", "DELETE_SUBJECT", "CLEAR_SUBJECT", "CONTEXT", "NOOP"]) | SCALARS,
    subject=st.sampled_from(["orders", ":.c:"]) | SCALARS,
    version=st.integers(-1, 3) | SCALARS,
    value=st.none() | BODIES,
)
def test_any_record_is_taken_or_called_damaged(kind: Any, subject: Any, version: Any, value: Any) -> None:
    api = world()
    key = {"keytype": kind, "subject": subject, "version": version, "context": subject, "magic": 1}
    data = None if value is None else json.dumps(value).encode()
    try:
        state = api.memory.state.apply(decode_record(json.dumps(key).encode(), data))
    except DamagedRecord:
        return
    api.memory.registry.state = state
    for path in ("/schemas?deleted=true&aliases=true&ruleType=CEL", "/subjects", "/config/orders?defaultToGlobal=true"):
        assert api.send("GET", path).status == 200
    check(api.send("POST", "/subjects/orders/versions", schema(record("id", "note?", "x?"))), REGISTER)
