"""What requests answer, and what is said about paths, methods and media types."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from ottla import __version__
from ottla.registry.registration import Parse
from ottla.registry.rest.endpoints import ENDPOINTS
from ottla.registry.state import RegistryState
from ottla.schemas.format import ParsedSchema
from ottla.schemas.schema import Schema, SchemaType
from unit.registry.rest.apis import Api, record, registered, schema
from unit.registry.rest.worlds import BROKEN, PROTO, REFERENCE, REFERRING, RULES, world

FIRST, SECOND = record("id"), record("id", "note?")
NEXT = schema(record("id", "note?", "more?"))
OWNED = {"properties": {"owner": "me"}}


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/", None, {}),
        ("POST", "/", {"any": "thing"}, {}),
        ("GET", "/v1/metadata/version", None, {"version": __version__, "commitId": "unknown"}),
        ("GET", "/v1/metadata/deployment", None, {"attributes": ["opensource"]}),
        (
            "GET",
            "/v1/metadata/id",
            None,
            {
                "scope": {
                    "path": [],
                    "clusters": {"kafka-cluster": "a-cluster", "schema-registry-cluster": "schema-registry"},
                },
                "id": "",
            },
        ),
        ("GET", "/schemas/types", None, ["JSON", "PROTOBUF", "AVRO"]),
        ("GET", "/subjects?subjectPrefix=or", None, ["orders"]),
        ("GET", "/subjects?subjectPrefix=:*:or", None, [":.c:orders", "orders"]),
        ("GET", "/subjects?subjectPrefix=:.c:", None, [":.c:orders"]),
        ("GET", "/subjects?offset=1&limit=2", None, ["base", "broken"]),
        ("GET", "/subjects?deletedOnly=true", None, ["gone", "lockedgone", "vestige"]),
        ("GET", "/subjects?subjectPrefix=go&deleted=true", None, ["gone"]),
        ("GET", "/subjects/half/versions", None, [2]),
        ("GET", "/subjects/half/versions?deleted=true", None, [1, 2]),
        ("GET", "/subjects/half/versions?deletedOnly=true", None, [1]),
        ("GET", "/subjects/half/versions?deletedAsNegative=true", None, [-1, 2]),
        ("GET", "/subjects/half/versions?deleted=true&offset=1", None, [2]),
        ("GET", "/subjects/nick/versions", None, [1, 2]),
        ("GET", "/subjects/orders/versions/1/schema", None, json.loads(FIRST)),
        ("GET", "/subjects/orders/versions/latest/schema", None, json.loads(SECOND)),
        ("GET", "/subjects/orders/versions/-1/schema", None, json.loads(SECOND)),
        ("GET", "/subjects/half/versions/1/schema?deleted=true", None, json.loads(FIRST)),
        ("GET", "/subjects/orders/versions/2/referencedby", None, [3]),
        ("GET", "/subjects/orders/versions/2/referencedby?limit=0", None, []),
        ("GET", "/subjects/vestige/versions/1/referencedby", None, [503]),
        ("GET", "/schemas/ids/1/schema", None, json.loads(FIRST)),
        ("GET", "/schemas/ids/2/subjects", None, ["half", "orders"]),
        ("GET", "/schemas/ids/2/subjects?offset=1", None, ["orders"]),
        ("GET", "/schemas/ids/1/subjects?subject=:.c:", None, [":.c:orders"]),
        ("GET", "/schemas/ids/502/subjects", None, []),
        ("GET", "/schemas/ids/502/subjects?deleted=true", None, ["vestige"]),
        ("GET", "/schemas/ids/3/versions", None, [{"subject": "referring", "version": 1}]),
        ("GET", f"/schemas/guids/{BROKEN.guid}/ids", None, [{"context": ".", "id": 501}]),
        ("GET", "/contexts", None, [".", ".c", ".empty"]),
        ("GET", "/contexts?limit=1", None, ["."]),
        ("GET", "/config", None, {"compatibilityLevel": "BACKWARD"}),
        ("GET", "/config/nick", None, {"alias": "orders"}),
        ("GET", "/config/nick?defaultToGlobal=true", None, {"compatibilityLevel": "BACKWARD", "alias": "orders"}),
        ("GET", "/config/nobody?defaultToGlobal=true", None, {"compatibilityLevel": "BACKWARD"}),
        ("PUT", "/config/nobody", {"compatibility": "full"}, {"compatibility": "FULL"}),
        ("PUT", "/config", {"compatibilityLevel": "NONE", "new": [1]}, {"compatibility": "NONE", "new": [1]}),
        ("DELETE", "/config/nick", None, {"alias": "orders"}),
        ("DELETE", "/config", None, {"compatibilityLevel": "BACKWARD"}),
        ("GET", "/mode", None, {"mode": "READWRITE"}),
        ("GET", "/mode/locked", None, {"mode": "READONLY"}),
        ("GET", "/mode/orders?defaultToGlobal=true", None, {"mode": "READWRITE"}),
        ("PUT", "/mode", {"mode": "readonly"}, {"mode": "READONLY"}),
        ("PUT", "/mode/orders?force=true", {"mode": "IMPORT"}, {"mode": "IMPORT"}),
        ("PUT", "/mode/:.c:", {"mode": "FORWARD"}, {"mode": "FORWARD"}),
        ("DELETE", "/mode", None, {"mode": "READWRITE"}),
        ("DELETE", "/mode/locked", None, {"mode": "READONLY"}),
        ("DELETE", "/mode/:.c:?recursive=true", None, {}),
        ("DELETE", "/subjects/half", None, [2]),
        ("DELETE", "/subjects/gone?permanent=true", None, [1]),
        ("DELETE", "/subjects/half/versions/latest", None, 2),
        ("DELETE", "/subjects/half/versions/1?permanent=true", None, 1),
        ("DELETE", "/contexts/.empty", None, None),
        ("DELETE", "/contexts/:.empty:", None, None),
        ("POST", "/compatibility/subjects/orders/versions", NEXT, {"is_compatible": True}),
        ("POST", "/compatibility/subjects/nobody/versions", NEXT, {"is_compatible": True}),
        (
            "POST",
            "/compatibility/subjects/orders/versions/latest?verbose=true",
            NEXT,
            {"is_compatible": True, "messages": []},
        ),
        ("POST", "/subjects/orders/versions", schema(FIRST), registered(1, schema(FIRST))),
        ("POST", "/subjects/orders/versions", NEXT, registered(504, NEXT)),
        ("POST", "/subjects/new/versions", schema(SECOND, unknown={"new": [1]}), registered(2, schema(SECOND))),
    ],
)
def test_requests_have_their_answers(method: str, path: str, body: Any, expected: Any) -> None:
    status, answer = world().ask(method, path, body)
    assert (status, answer) == (204 if expected is None else 200, expected)


def test_a_version_is_shown_with_all_it_has() -> None:
    api = world()
    owned = api.must("GET", "/subjects/owned/versions/1")
    guid = owned.pop("guid")
    assert owned == {
        "subject": "owned",
        "version": 1,
        "id": 4,
        "metadata": OWNED,
        "ruleSet": RULES,
        "schema": FIRST,
    }
    alone = {"guid": guid, "metadata": OWNED, "ruleSet": RULES, "schema": FIRST}
    assert api.must("GET", f"/schemas/guids/{guid}") == alone
    assert api.must("GET", "/schemas/ids/4?fetchMaxId=true") == alone | {"maxId": 503}
    assert api.must("GET", "/subjects/owned/metadata?key=owner&value=me") == owned | {"guid": guid}
    lookup = schema(FIRST, metadata=OWNED, ruleSet=RULES)
    assert api.must("POST", "/subjects/owned", lookup) == owned | {"guid": guid}
    assert api.must("GET", "/subjects/referring/versions/1")["references"] == [REFERENCE]


def test_schemas_are_searched() -> None:
    api = world()

    def found(query: str) -> list[tuple[str, int]]:
        return [(one["subject"], one["version"]) for one in api.must("GET", f"/schemas?{query}")]

    assert found("subjectPrefix=orders") == [("orders", 1), ("orders", 2)]
    assert found("subjectPrefix=orders&latestOnly=true") == [("orders", 2)]
    assert found("subjectPrefix=half&deleted=true&limit=1") == [("half", 1)]
    assert found("ruleType=CEL") == [("owned", 1)]
    assert found("subjectPrefix=nick") == []
    assert found("subjectPrefix=nick&aliases=true") == [("orders", 1), ("orders", 2)]
    (first, _) = api.must("GET", "/schemas?subjectPrefix=nick&aliases=true")
    assert first["aliases"] == ["nick"]


def test_a_text_is_shown_in_other_forms() -> None:
    api = world()
    resolved = json.loads(api.must("GET", "/schemas/ids/3?format=resolved")["schema"])
    assert resolved == {"type": "array", "items": json.loads(SECOND)}
    assert api.must("GET", "/subjects/referring/versions/1/schema?format=resolved") == resolved
    asked = schema(REFERRING, references=[REFERENCE])
    assert json.loads(api.must("POST", "/subjects/referring?format=resolved", asked)["schema"]) == resolved
    assert json.loads(api.must("POST", "/subjects/referring/versions?format=resolved", asked)["schema"]) == resolved
    serialized = api.must("GET", "/subjects/proto/versions/1?format=serialized")["schema"]
    proto = schema(serialized, schemaType="PROTOBUF")
    assert api.must("POST", "/subjects/proto", proto)["schema"] == PROTO


def test_references_are_shown_with_their_context_on_request() -> None:
    api = world()
    text = '{"type":"array","items":"Other"}'
    reference = {"name": "Other", "subject": "orders", "version": 1}
    api.must("POST", "/subjects/:.c:list/versions", schema(text, references=[reference]))
    path = "/subjects/:.c:list/versions/1"
    assert api.must("GET", path)["references"] == [reference]
    qualified = api.must("GET", f"{path}?referenceFormat=qualified")["references"]
    assert qualified == [reference | {"subject": ":.c:orders"}]


def test_settings_of_a_subject_say_whether_schemas_are_normalised() -> None:
    api = world()
    api.must("PUT", "/config/json", {"normalize": True})
    body = schema('{"type":"object","additionalProperties":true}', schemaType="JSON")
    path = "/subjects/json/versions"
    api.must("POST", f"{path}?normalize=false", body)
    assert list(api.must("GET", f"{path}/2/schema")) == ["type", "additionalProperties"]
    api.must("POST", path, body)
    assert list(api.must("GET", f"{path}/3/schema")) == ["additionalProperties", "type"]


def test_a_version_that_inherits_answers_with_all_it_has() -> None:
    api = world()
    answer = api.must("POST", "/subjects/owned/versions", schema(SECOND))
    assert (answer["version"], answer["metadata"], answer["ruleSet"]) == (2, OWNED, RULES)


def test_ids_are_given_in_import_mode() -> None:
    api = world()
    api.must("PUT", "/mode/new", {"mode": "IMPORT"})
    assert api.must("POST", "/subjects/new/versions", NEXT | {"id": 77, "version": 5}) == registered(77, NEXT)
    assert api.must("GET", "/subjects/new/versions") == [5]
    api.must("PUT", "/mode/new", {"mode": "READWRITE"})
    assert api.must("POST", "/subjects/new/versions", schema(SECOND)) == registered(2, schema(SECOND))


# -- tags -------------------------------------------------------------------------------------------------------------


def tags(path: str, kind: str, *words: str) -> dict[str, Any]:
    return {"schemaEntity": {"entityPath": path, "entityType": kind}, "tags": list(words)}


def test_a_version_gets_tags_metadata_and_rules() -> None:
    api = world()
    path = "/subjects/owned/versions/latest"
    rule = {"name": "s", "type": "CEL", "kind": "TRANSFORM", "mode": "WRITEREAD"}
    asked = {
        "newVersion": 2,
        "tagsToAdd": [tags("Order.id", "sr_field", "PII"), tags(".Order.id", "sr_field", "GDPR")],
        "metadata": {"properties": {"owner": "you"}},
        "rulesToMerge": {"domainRules": [{"name": "s", "type": "CEL"}]},
        "rulesToRemove": ["r"],
    }
    answer = api.must("POST", f"{path}/tags", asked)
    assert answer["version"] == 2
    assert answer["metadata"] == {"properties": {"owner": "you", "confluent:version": "2"}}
    assert answer["ruleSet"] == {"domainRules": [rule]}
    found = api.must("GET", f"{path}?findTags=GDPR&findTags=other")
    assert found["schemaTags"] == [tags("Order.id", "sr_field", "PII", "GDPR")]
    assert api.must("GET", f"/schemas/ids/{answer['id']}?findTags=*")["schemaTags"] == found["schemaTags"]
    assert api.must("GET", f"{path}?findTags=other")["schemaTags"] == []
    api.must("POST", f"{path}/tags", {"tagsToRemove": [tags("Order.id", "sr_field", "PII", "GDPR")]})
    assert api.must("GET", f"{path}?findTags=*")["schemaTags"] == []


@pytest.mark.parametrize(
    ("subject", "entity"), [("orders", "Order"), ("json", "object"), ("proto", "Order")], ids=list(SchemaType)
)
def test_every_format_has_tags(subject: str, entity: str) -> None:
    api = world()
    path = f"/subjects/{subject}/versions/latest"
    api.must("POST", f"{path}/tags", {"tagsToAdd": [tags(entity, "sr_record", "PII")]})
    assert api.must("GET", f"{path}?findTags=*")["schemaTags"] == [tags(entity, "sr_record", "PII")]


# -- paths, methods and media types -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/nothing", "/subjects/orders/nothing", "/subjects//versions", "/schemas/ids", "/%ff"]
)
def test_unknown_paths_are_told(path: str) -> None:
    assert world().ask("GET", path) == (404, {"error_code": 404, "message": "HTTP 404 Not Found"})


@pytest.mark.parametrize("path", sorted({one.path for one in ENDPOINTS}))
def test_methods_that_a_path_does_not_have_are_told_with_those_that_it_has(path: str) -> None:
    answer = world().send("PATCH", path)
    assert (answer.status, answer.body) == (405, {"error_code": 405, "message": "HTTP 405 Method Not Allowed"})
    allowed = {one.method for one in ENDPOINTS if one.path == path}
    assert set(answer.headers["allow"].split(", ")) == allowed | {"OPTIONS"} | ({"HEAD"} if "GET" in allowed else set())
    options = world().send("OPTIONS", path)
    assert (options.status, set(options.headers["allow"].split(", "))) == (
        200,
        set(answer.headers["allow"].split(", ")),
    )


def test_head_is_get_without_its_body() -> None:
    api = world()
    head, get = api.send("HEAD", "/schemas/ids/1"), api.send("GET", "/schemas/ids/1")
    assert (head.status, head.headers, head.content) == (200, get.headers, b"")


def test_a_slash_at_the_end_changes_nothing() -> None:
    assert world().must("GET", "/subjects/orders/versions/") == [1, 2]


@pytest.mark.parametrize(
    "kind", ["application/vnd.schemaregistry.v1+json", "application/json; charset=utf-8", "*/*", ""]
)
def test_answers_have_one_media_type(kind: str) -> None:
    answer = world().send("GET", "/subjects", headers={"accept": kind})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/vnd.schemaregistry.v1+json")


def test_other_media_types_are_not_to_be_had() -> None:
    status, answer = world().ask("GET", "/subjects", headers={"accept": "text/html, image/*;q=0.5"})
    assert (status, answer["error_code"]) == (406, 406)


@pytest.mark.parametrize("kind", ["application/vnd.schemaregistry+json", "application/octet-stream", None])
def test_bodies_come_as_json_by_several_names(kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}
    content = json.dumps(NEXT).encode()
    answered = world().ask("POST", "/subjects/orders/versions", content=content, headers=headers)
    assert answered == (200, registered(504, NEXT))


# -- names of subjects ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "subject", ["x%2Fy", "x%2Fversions%2F1", "a%20b", "%E2%98%83", "x%252Fy", ":.c:x%2Fy", "versions"]
)
def test_a_subject_has_any_name(subject: str) -> None:
    api = Api()
    api.must("POST", f"/subjects/{subject}/versions", schema(FIRST))
    assert api.must("GET", f"/subjects/{subject}/versions") == [1]
    assert api.must("DELETE", f"/subjects/{subject}/versions/1") == 1


@pytest.mark.parametrize("subject", ["%FF", "a%0Ab", "__GLOBAL", ":.c:", "x" * 5000])
def test_what_cannot_be_a_subject_is_told(subject: str) -> None:
    status, answer = Api().ask("POST", f"/subjects/{subject}/versions", schema(FIRST))
    assert (status, answer["error_code"]) == (422, 42208)


def test_a_context_may_stand_before_a_path() -> None:
    api = world()
    base = "/contexts/.c"
    assert api.must("GET", f"{base}/subjects") == [":.c:orders"]
    assert api.must("GET", f"{base}/subjects?subjectPrefix=x") == []
    assert api.must("GET", f"{base}/subjects/orders/versions/1")["subject"] == ":.c:orders"
    assert api.must("GET", "/contexts/.empty/subjects/:.c:orders/versions") == [1]
    assert api.must("GET", f"{base}/schemas/ids/1")["schema"] == record("id", name="Other")
    assert [one["subject"] for one in api.must("GET", f"{base}/schemas")] == [":.c:orders"]
    assert api.must("PUT", f"{base}/config", {"compatibility": "NONE"}) == {"compatibility": "NONE"}
    assert api.must("GET", "/config/:.c:") == {"compatibilityLevel": "NONE"}
    assert api.must("POST", f"{base}/compatibility/subjects/orders/versions", NEXT) == {"is_compatible": True}
    assert api.must("PUT", f"{base}/mode/orders", {"mode": "READONLY"}) == {"mode": "READONLY"}
    assert api.must("GET", "/mode/:.c:orders") == {"mode": "READONLY"}
    assert api.must("GET", "/contexts/c/subjects/orders/versions") == [1]


# -- compatibility ----------------------------------------------------------------------------------------------------

BEFORE_AND_AFTER = {
    SchemaType.AVRO: (record("id"), record("id", "new"), "READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/1"),
    SchemaType.JSON: (
        '{"type":"object","properties":{"a":{"type":"string"}}}',
        '{"type":"object","properties":{"a":{"type":"integer"}}}',
        "TYPE_CHANGED",
        "#/properties/a",
    ),
    SchemaType.PROTOBUF: (PROTO, PROTO.replace("int32", "string"), "FIELD_SCALAR_KIND_CHANGED", "#/Order/1"),
}


@pytest.mark.parametrize("kind", list(SchemaType))
@pytest.mark.parametrize("level", ["BACKWARD", "FORWARD"])
def test_every_finding_names_the_rule_the_place_and_both_versions(kind: SchemaType, level: str) -> None:
    before, after, rule, place = BEFORE_AND_AFTER[kind]
    if level == "FORWARD":
        before, after = after, before
    api = Api()
    api.must("PUT", "/config/s", {"compatibility": level})
    api.must("POST", "/subjects/s/versions", schema(before, schemaType=kind))
    body = schema(after, schemaType=kind)
    assert api.must("POST", "/compatibility/subjects/s/versions", body) == {"is_compatible": False}
    answer = api.must("POST", "/compatibility/subjects/s/versions/1?verbose=true", body)
    (message,) = answer["messages"]
    reader, writer = ("the new version 2", "version 1") if level == "BACKWARD" else ("version 1", "the new version 2")
    assert message.startswith(
        f"{{errorType:'{rule}', description:'at {place} {reader} cannot read what {writer} writes"
    )
    assert "; the reader has " in message
    assert message.endswith("{oldSchemaVersion: 1}")
    _, refusal = api.ask("POST", "/subjects/s/versions", body)
    assert message in refusal["message"]


def test_of_many_findings_the_first_are_told() -> None:
    api = Api()
    api.must("PUT", "/config", {"compatibility": "BACKWARD_TRANSITIVE"})
    for fields in (("id",), ("id", "note?")):
        api.must("POST", "/subjects/s/versions", schema(record(*fields)))
    body = schema(record("id", *(f"f{number}" for number in range(70))))
    messages = api.must("POST", "/compatibility/subjects/s/versions?verbose=true", body)["messages"]
    assert (len(messages), messages[-1]) == (101, "{and 40 more}")


def test_schemas_that_are_too_large_to_compare_are_told() -> None:
    api = Api()
    union = [{"type": "record", "name": f"R{number}", "fields": []} for number in range(750)]
    text = json.dumps(union, separators=(",", ":"))
    api.must("POST", "/subjects/s/versions", schema(text))
    other = text.replace('"R0"', '"Q"')
    status, answer = api.ask("POST", "/subjects/s/versions", schema(other))
    assert (status, answer["error_code"]) == (422, 42201)
    assert "pairs of types" in answer["message"]


def test_schemas_are_read_beside_the_loop() -> None:
    """A large one takes seconds, in which others want their answers."""
    api = world()
    threads: list[threading.Thread] = []
    read = api.memory.parser

    def parser(state: RegistryState) -> Parse:
        def parse(subject: str, one: Schema, is_new: bool) -> ParsedSchema:
            threads.append(threading.current_thread())
            return read(state)(subject, one, is_new)

        return parse

    api.memory.parser = parser  # type: ignore[method-assign]
    body = schema(SECOND)
    for method, path in (
        ("POST", "/subjects/orders/versions"),
        ("POST", "/subjects/orders"),
        ("POST", "/compatibility/subjects/orders/versions"),
        ("GET", "/schemas/ids/1?format=resolved"),
    ):
        threads.clear()
        api.must(method, path, body if method == "POST" else None)
        assert threads
        assert threading.main_thread() not in threads
