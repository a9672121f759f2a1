"""Every request with every code that it may answer: what causes it, and what the client is told."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from ottla.registry.errors import MEANINGS, RegistryError, store_failed, timed_out
from ottla.registry.rest.endpoints import BODY_CODES, ENDPOINTS, LEADER_CODES, Endpoint
from ottla.registry.scopes import Defaults
from unit.registry.rest.apis import BODY_BYTES_MAX, RECORD_BYTES_MAX, Api, record, schema
from unit.registry.rest.worlds import BROKEN, world

GOOD = schema(record("id", "note?", "more?"))
BAD_TEXT = schema("{")
INCOMPATIBLE = schema(record("id", "note?", "new"))
NO_RULE = {"domainRules": [{"name": "1", "type": "CEL"}]}
NO_SUBJECT = "%00"
TAGGED = {"tagsToAdd": [{"schemaEntity": {"entityPath": "Order", "entityType": "sr_record"}, "tags": ["PII"]}]}
MISTAGGED = {"tagsToAdd": [{"schemaEntity": {"entityPath": "Nobody", "entityType": "sr_record"}, "tags": ["PII"]}]}
READONLY = ("PUT", "/mode", {"mode": "READONLY_OVERRIDE"})
SUBJECT_NOT_FOUND = "Subject 'nobody' not found."
VERSION_NOT_FOUND = "Version 9 not found."
INVALID_VERSION = "The specified version 'zero' is not a valid version id. Allowed values are between [1, 2^31-1] and"
INVALID_SUBJECT = "The specified subject '\0' is not a valid."
READ_ONLY = "is in read-only mode"


@dataclass(frozen=True)
class Case:
    path: str
    message: str
    body: Any = None
    before: tuple[tuple[Any, ...], ...] = ()
    defaults: Defaults = field(default_factory=Defaults)


def subject_cases(template: str) -> dict[int, Case]:
    """What is wrong with the name of a subject, or with the version."""
    cases = {42208: Case(template.format(subject=NO_SUBJECT, version=1), INVALID_SUBJECT)}
    if "{version}" in template:
        cases[42202] = Case(template.format(subject="orders", version="zero"), INVALID_VERSION)
        cases[40402] = Case(template.format(subject="orders", version=9), VERSION_NOT_FOUND)
    cases[40401] = Case(template.format(subject="nobody", version=1), SUBJECT_NOT_FOUND)
    return cases


TOO_LARGE = "x" * RECORD_BYTES_MAX
NOT_FOUND = "HTTP 404 Not Found"
ID_CASES = {
    404: Case("/schemas/ids/one", NOT_FOUND),
    40403: Case("/schemas/ids/77", "Schema 77 not found"),
    42208: Case("/schemas/ids/1?subject=%00", INVALID_SUBJECT),
}
VERSION = "/subjects/{subject}/versions/{version}"
CHECKS = "/compatibility/subjects/{subject}/versions"
SETTING_CASES = {
    42203: Case("", "Invalid compatibility level. Valid values are none, backward, ", {"compatibility": "SOMETIMES"}),
    42205: Case("", READ_ONLY, {"compatibility": "FULL"}, before=(READONLY,)),
    42208: Case("", INVALID_SUBJECT, {"alias": "\0"}),
    42210: Case("", "A rule has the name", {"defaultRuleSet": {"domainRules": [{"type": "CEL"}]}}),
}
FIXED = Defaults(allows_mode_changes=False)
MODE_CASES = {
    42204: Case("", "Invalid mode. Valid values are READWRITE, READONLY, ", {"mode": "SOMETIMES"}),
    42205: Case("", "Cannot import since found existing subjects", {"mode": "IMPORT"}),
}

CASES: dict[str, dict[int, Case]] = {
    "GET /schemas/ids/{id}": {
        **ID_CASES,
        42201: Case("/schemas/ids/501?format=resolved", "The schema cannot be shown as resolved: "),
    },
    "GET /schemas/ids/{id}/schema": {
        code: Case(case.path.replace("?", "/schema?") if "?" in case.path else f"{case.path}/schema", case.message)
        for code, case in ID_CASES.items()
    }
    | {42201: Case("/schemas/ids/501/schema?format=resolved", "cannot be shown as resolved")},
    "GET /schemas/ids/{id}/subjects": {
        404: Case("/schemas/ids/1/subjects?offset=one", NOT_FOUND),
        40403: Case("/schemas/ids/77/subjects", "Schema 77 not found"),
        42208: Case("/schemas/ids/1/subjects?subject=%00", INVALID_SUBJECT),
    },
    "GET /schemas/ids/{id}/versions": {
        404: Case("/schemas/ids/99999999999/versions", NOT_FOUND),
        40403: Case("/schemas/ids/77/versions", "Schema 77 not found"),
        42208: Case("/schemas/ids/1/versions?subject=%00", INVALID_SUBJECT),
    },
    "GET /schemas/guids/{guid}": {
        40403: Case("/schemas/guids/nobody", "Schema nobody not found"),
        42201: Case(f"/schemas/guids/{BROKEN.guid}?format=resolved", "cannot be shown as resolved"),
    },
    "GET /schemas/guids/{guid}/ids": {40403: Case("/schemas/guids/nobody/ids", "Schema nobody not found")},
    "GET /schemas": {404: Case("/schemas?limit=some", NOT_FOUND)},
    "GET /subjects": {404: Case("/subjects?offset=9999999999", NOT_FOUND)},
    "POST /subjects/{subject}": {
        40401: Case("/subjects/nobody", SUBJECT_NOT_FOUND, GOOD),
        40403: Case("/subjects/orders", "Schema not found", GOOD),
        42201: Case("/subjects/nobody", "Invalid schema of type AVRO, details: ", BAD_TEXT),
        42208: Case(f"/subjects/{NO_SUBJECT}", INVALID_SUBJECT, GOOD),
    },
    "DELETE /subjects/{subject}": {
        40401: Case("/subjects/nobody", SUBJECT_NOT_FOUND),
        40404: Case("/subjects/gone", "Subject 'gone' was soft deleted.Set permanent=true to delete permanently"),
        40405: Case(
            "/subjects/half?permanent=true",
            "Subject 'half' was not deleted first before being permanently deleted",
        ),
        42205: Case("/subjects/locked", "Subject locked is in read-only mode"),
        42206: Case(
            "/subjects/base",
            "One or more references exist to the schema {magic=1,keytype=SCHEMA,subject=base,version=1}.",
        ),
        42208: Case(f"/subjects/{NO_SUBJECT}", INVALID_SUBJECT),
    },
    "GET /subjects/{subject}/metadata": {
        422: Case("/subjects/owned/metadata?key=owner", "There are 1 keys and 0 values"),
        40401: Case("/subjects/nobody/metadata?key=owner&value=me", SUBJECT_NOT_FOUND),
        40403: Case("/subjects/owned/metadata?key=owner&value=you", "Schema not found"),
        42201: Case("/subjects/broken/metadata?key=k&value=v&format=resolved", "cannot be shown as resolved"),
        42208: Case(f"/subjects/{NO_SUBJECT}/metadata", INVALID_SUBJECT),
    },
    "GET /subjects/{subject}/versions": {
        404: Case("/subjects/orders/versions?limit=x", NOT_FOUND),
        40401: Case("/subjects/gone/versions", "Subject 'gone' not found."),
        42208: Case(f"/subjects/{NO_SUBJECT}/versions", INVALID_SUBJECT),
    },
    "POST /subjects/{subject}/versions": {
        40901: Case(
            "/subjects/orders/versions",
            'Schema being registered is incompatible with an earlier schema for subject "orders", details: [',
            INCOMPATIBLE,
        ),
        42201: Case("/subjects/orders/versions", "Invalid schema of type AVRO, details: ", BAD_TEXT),
        42205: Case("/subjects/locked/versions", "Subject locked in context . is in read-only mode", GOOD),
        42208: Case(f"/subjects/{NO_SUBJECT}/versions", INVALID_SUBJECT, GOOD),
        42209: Case("/subjects/large/versions", "schema is too large", schema(record("id", doc=TOO_LARGE))),
        42210: Case("/subjects/orders/versions", "Rule name '1' may have letters", {**GOOD, "ruleSet": NO_RULE}),
    },
    "GET /subjects/{subject}/versions/{version}": {
        **subject_cases(VERSION),
        42201: Case("/subjects/broken/versions/1?format=resolved", "cannot be shown as resolved"),
    },
    "DELETE /subjects/{subject}/versions/{version}": {
        **subject_cases(VERSION),
        40406: Case(
            "/subjects/half/versions/1",
            "Subject 'half' Version 1 was soft deleted.Set permanent=true to delete permanently",
        ),
        40407: Case(
            "/subjects/half/versions/2?permanent=true",
            "Subject 'half' Version 2 was not deleted first before being permanently deleted",
        ),
        42205: Case("/subjects/locked/versions/1", "Subject locked is in read-only mode"),
        42206: Case("/subjects/base/versions/1", "One or more references exist to the schema {magic=1,keytype=SCHEMA,"),
    },
    "GET /subjects/{subject}/versions/{version}/schema": {
        **subject_cases(f"{VERSION}/schema"),
        42201: Case("/subjects/broken/versions/1/schema?format=resolved", "cannot be shown"),
    },
    "GET /subjects/{subject}/versions/{version}/referencedby": {
        **subject_cases(f"{VERSION}/referencedby"),
        404: Case("/subjects/orders/versions/1/referencedby?limit=x", NOT_FOUND),
    },
    "POST /subjects/{subject}/versions/{version}/tags": {
        code: Case(case.path, case.message, TAGGED) for code, case in subject_cases(f"{VERSION}/tags").items()
    }
    | {
        40901: Case(
            "/subjects/orders/versions/1/tags",
            "is incompatible with an earlier schema",
            TAGGED,
            before=(
                ("PUT", "/config/orders", {"compatibility": "FORWARD"}),
                ("POST", "/subjects/orders/versions", schema(record("id", "note?", "x"))),
            ),
        ),
        42201: Case("/subjects/orders/versions/1/tags", "the schema has no record Nobody", MISTAGGED),
        42205: Case("/subjects/locked/versions/1/tags", READ_ONLY, TAGGED),
        42209: Case(
            "/subjects/orders/versions/1/tags",
            "schema is too large",
            {**TAGGED, "metadata": {"properties": {"note": TOO_LARGE}}},
        ),
        42210: Case("/subjects/orders/versions/1/tags", "Rule name '1' may", {**TAGGED, "ruleSet": NO_RULE}),
    },
    "POST /compatibility/subjects/{subject}/versions": {
        42201: Case("/compatibility/subjects/orders/versions", "Invalid schema of type AVRO, details: ", BAD_TEXT),
        42208: Case(f"/compatibility/subjects/{NO_SUBJECT}/versions", INVALID_SUBJECT, GOOD),
    },
    "POST /compatibility/subjects/{subject}/versions/{version}": {
        code: Case(case.path, case.message, GOOD) for code, case in subject_cases(f"{CHECKS}/{{version}}").items()
    }
    | {42201: Case("/compatibility/subjects/orders/versions/1", "Invalid schema of type AVRO, details: ", BAD_TEXT)},
    "PUT /config": {
        code: Case("/config", case.message, case.body, case.before) for code, case in SETTING_CASES.items()
    },
    "DELETE /config": {42205: Case("/config", "The registry is in read-only mode", before=(READONLY,))},
    "GET /config/{subject}": {
        40408: Case("/config/orders", "Subject 'orders' does not have subject-level compatibility configured"),
        42208: Case(f"/config/{NO_SUBJECT}", INVALID_SUBJECT),
    },
    "PUT /config/{subject}": {
        code: Case("/config/orders", case.message, case.body, case.before) for code, case in SETTING_CASES.items()
    },
    "DELETE /config/{subject}": {
        40401: Case("/config/nobody", SUBJECT_NOT_FOUND),
        42205: Case("/config/locked", "Subject locked is in read-only mode"),
        42208: Case(f"/config/{NO_SUBJECT}", INVALID_SUBJECT),
    },
    "PUT /mode": {code: Case("/mode", case.message, case.body) for code, case in MODE_CASES.items()},
    "DELETE /mode": {42205: Case("/mode", "Mode changes are not allowed", defaults=FIXED)},
    "GET /mode/{subject}": {
        40409: Case("/mode/orders", "Subject 'orders' does not have subject-level mode configured"),
        42208: Case(f"/mode/{NO_SUBJECT}", INVALID_SUBJECT),
    },
    "PUT /mode/{subject}": {code: Case("/mode/orders", case.message, case.body) for code, case in MODE_CASES.items()}
    | {
        42206: Case("/mode/vestige", "One or more references exist to the schema", {"mode": "IMPORT"}),
        42208: Case(f"/mode/{NO_SUBJECT}", INVALID_SUBJECT, {"mode": "READONLY"}),
    },
    "DELETE /mode/{subject}": {
        40401: Case("/mode/nobody", SUBJECT_NOT_FOUND),
        42205: Case("/mode/locked", "Mode changes are not allowed", defaults=FIXED),
        42208: Case(f"/mode/{NO_SUBJECT}", INVALID_SUBJECT),
    },
    "GET /contexts": {404: Case("/contexts?limit=x", NOT_FOUND)},
    "DELETE /contexts/{context}": {
        40401: Case("/contexts/.nobody", "Subject ':.nobody:' not found."),
        42205: Case("/contexts/:.:", "The default context cannot be deleted"),
        42208: Case("/contexts/%00", "The specified subject ':.\0:' is not a valid."),
        42211: Case("/contexts/.c", "The specified context '.c' is not empty."),
    },
}


def name_of(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


def a_path(endpoint: Endpoint) -> str:
    return endpoint.path.format(subject="orders", version=1, context=".c", id=1, guid="1")


def check(answer: tuple[int, Any], code: int, message: str) -> None:
    status, body = answer
    assert set(body) == {"error_code", "message"}
    assert (body["error_code"], status) == (code, int(str(code)[:3])), body
    assert message in body["message"]


@pytest.mark.parametrize(("name", "code"), [(name, code) for name, cases in CASES.items() for code in cases], ids=str)
def test_a_request_answers_with_the_code_of_its_fault(name: str, code: int) -> None:
    case = CASES[name][code]
    api = world(case.defaults)
    for method, path, body in case.before:
        api.must(method, path, body)
    check(api.ask(name.split(maxsplit=1)[0], case.path, case.body), code, case.message)


def test_every_code_of_every_request_has_a_case() -> None:
    general = {*BODY_CODES, *LEADER_CODES}
    listed = {(name_of(one), code) for one in ENDPOINTS for code in one.all_codes if code not in general}
    assert {(name, code) for name, cases in CASES.items() for code in cases} == listed


def test_every_code_has_a_meaning() -> None:
    listed = {code for endpoint in ENDPOINTS for code in endpoint.all_codes}
    assert listed | {405, 406} == set(MEANINGS)


@pytest.mark.parametrize("endpoint", [one for one in ENDPOINTS if one.has_body], ids=name_of)
def test_bodies_are_json_objects_of_a_type_and_a_size(endpoint: Endpoint) -> None:
    api, method, path = world(), endpoint.method, a_path(endpoint)
    check(api.ask(method, path, content=b"{"), 400, "The body is not JSON: ")
    check(api.ask(method, path, []), 400, "The body is a list, not a JSON object")
    check(api.ask(method, path, content=b"{}", headers={"content-type": "text/html"}), 415, "HTTP 415 Unsupported")
    large = json.dumps("x" * BODY_BYTES_MAX).encode()
    check(api.ask(method, path, content=large), 413, "size.limit.filter.max.request.body.size")


LED = [one for one in ENDPOINTS if one.is_led]


@pytest.mark.parametrize("endpoint", LED, ids=name_of)
def test_nobody_who_leads_is_told(endpoint: Endpoint) -> None:
    api = world()
    api.memory.is_leading = False
    check(api.ask(endpoint.method, a_path(endpoint), {}), 50004, "Nobody is known to lead")


@pytest.mark.parametrize("endpoint", LED, ids=name_of)
def test_a_leader_that_cannot_be_asked_is_told(endpoint: Endpoint) -> None:
    api = world()
    api.memory.is_leading = False
    # Nobody can listen on port 0, so the kernel itself refuses.
    api.memory.leader_url = "http://127.0.0.1:0"
    check(api.ask(endpoint.method, a_path(endpoint), {}), 50003, "The leader at http://127.0.0.1:0 could not be asked")


# Requests that would change something, if the cluster let them.
CHANGES = {
    "DELETE /subjects/{subject}": ("/subjects/json", None),
    "POST /subjects/{subject}/versions": ("/subjects/orders/versions", GOOD),
    "DELETE /subjects/{subject}/versions/{version}": ("/subjects/orders/versions/1", None),
    "POST /subjects/{subject}/versions/{version}/tags": ("/subjects/orders/versions/2/tags", TAGGED),
    "PUT /config": ("/config", {"compatibility": "FULL"}),
    "DELETE /config": ("/config", None),
    "PUT /config/{subject}": ("/config/orders", {"compatibility": "FULL"}),
    "DELETE /config/{subject}": ("/config/nick", None),
    "PUT /mode": ("/mode", {"mode": "READONLY"}),
    "DELETE /mode": ("/mode", None),
    "PUT /mode/{subject}": ("/mode/orders", {"mode": "READONLY"}),
    "DELETE /mode/{subject}": ("/mode/locked", None),
    "DELETE /contexts/{context}": ("/contexts/.empty", None),
}


@pytest.mark.parametrize("endpoint", LED, ids=name_of)
@pytest.mark.parametrize("fault", [store_failed("no broker took it"), timed_out("no broker answered")])
def test_a_cluster_that_takes_no_change_is_told_and_nothing_has_changed(
    endpoint: Endpoint, fault: RegistryError
) -> None:
    api = world()
    before = api.memory.state
    api.memory.fault = fault
    path, body = CHANGES[name_of(endpoint)]
    check(api.ask(endpoint.method, path, body), fault.code, fault.message)
    assert api.memory.state is before


def test_a_fault_of_the_registry_itself_shows_no_trace(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_state: object) -> Any:
        raise RuntimeError("secret")

    api = Api()
    api.memory.parser = fail  # type: ignore[method-assign, assignment]
    check(api.ask("POST", "/subjects/a/versions", GOOD), 50001, "The registry failed; its log says why")
    assert "secret" in caplog.text
