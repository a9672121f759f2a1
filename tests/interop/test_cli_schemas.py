"""`ottla schemas` against a registry over the server, and against registries that refuse."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from harness.clients.java_client import Printed
from harness.command_line import CommandLine
from harness.http_answers import answering, refuse
from harness.registries import running_registries
from harness.servers import Server

ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'
NOTE = '{"name":"note","type":"string","default":""}'
NOTED = f"{ORDER[:-2]},{NOTE}]}}"
PRICED = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"price","type":"double"}]}'
COLUMNS = ["READER", "WRITER", "RULE", "PATH", "DETAIL", "READER-HAS", "WRITER-HAS"]

Run = Callable[..., Printed]


@pytest.fixture(scope="module")
def url(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_registries(tmp_path_factory.mktemp("registry"), server.bootstrap) as (registry,):
        yield registry.url


@pytest.fixture
def schemas(url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("OTTLA_SCHEMA_REGISTRY_URL", url)
    line = CommandLine(capsys)
    return lambda *arguments: line("schemas", *arguments)


@pytest.fixture
def subject() -> str:
    return f"orders-{uuid4().hex[:8]}-value"


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, str], str]:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


File = Callable[[str, str], str]


def rows(printed: Printed) -> list[dict[str, object]]:
    assert printed.code == 0, printed
    found: list[dict[str, object]] = json.loads(printed.out)
    return found


def test_a_schema_is_registered_listed_and_shown(schemas: Run, subject: str, file: File) -> None:
    (made,) = rows(schemas("register", subject, file("order.avsc", ORDER), "-o", "json"))
    assert (made["subject"], made["version"], made["type"]) == (subject, 1, "AVRO")
    assert rows(schemas("register", subject, file("order.avsc", ORDER), "-o", "json")) == [made]
    listed = rows(schemas("list", "orders-*", "-o", "json"))
    assert {"subject": subject, "version": 1, "id": made["id"], "type": "AVRO"} in listed
    shown = json.loads(schemas("show", subject, "-o", "json").out)
    assert (shown["id"], shown["guid"], shown["schema"]) == (made["id"], made["guid"], ORDER)
    by_id = json.loads(schemas("show", "--id", str(made["id"]), "-o", "json").out)
    assert (by_id["schema"], by_id["guid"]) == (ORDER, made["guid"])
    assert f"{subject}:1" in by_id["versions"]
    assert json.loads(schemas("show", "--guid", str(made["guid"]), "-o", "json").out)["schema"] == ORDER
    table = schemas("show", subject, "1").out
    assert f"subject  {subject}" in table
    assert '  "name": "Order",\n' in table


def test_a_schema_comes_from_stdin_with_its_references(
    schemas: Run, subject: str, file: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    schemas("register", f"{subject}-inner", file("order.avsc", ORDER))
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"type":"array","items":"Order"}'))
    reference = f"Order={subject}-inner:1"
    done = schemas("register", subject, "-", "--type", "avro", "--reference", reference, "-o", "json")
    (made,) = rows(done)
    assert json.loads(schemas("show", subject, "-o", "json").out)["references"] == [reference]
    refused = schemas("delete", f"{subject}-inner", "--execute")
    assert (refused.code, f"schemas with id {made['id']} refer to it" in refused.err) == (6, True)
    assert schemas("show", f"{subject}-inner").code == 0


@pytest.mark.parametrize("name", ["order.json", "order.proto"])
def test_the_type_is_that_of_the_suffix(schemas: Run, subject: str, file: File, name: str) -> None:
    texts = {
        "order.json": '{"type":"object"}',
        "order.proto": 'syntax = "proto3";\nmessage Order {\n  int64 id = 1;\n}\n',
    }
    (made,) = rows(schemas("register", subject, file(name, texts[name]), "-o", "json"))
    assert made["type"] == {"order.json": "JSON", "order.proto": "PROTOBUF"}[name]
    assert "Order" in schemas("show", subject).out or name == "order.json"


def test_differences_without_a_meaning_make_no_version_if_asked(schemas: Run, subject: str, file: File) -> None:
    schemas("register", subject, file("order.avsc", ORDER), "--normalize")
    spaced = '{"name":"Order","type":"record","fields":[{"type":{"type":"long"},"name":"id"}]}'
    (made,) = rows(schemas("register", subject, file("spaced.avsc", spaced), "--normalize", "-o", "json"))
    assert made["version"] == 1


def test_check_tells_before_a_deploy_what_would_be_refused(schemas: Run, subject: str, file: File) -> None:
    good, bad = file("noted.avsc", NOTED), file("priced.avsc", PRICED)
    first = schemas("check", subject, bad)
    assert (first.code, "no versions yet" in first.err) == (0, True)
    schemas("register", subject, file("order.avsc", ORDER))
    passed = schemas("check", subject, good)
    assert (passed.code, passed.out) == (0, "")
    assert "compatible under BACKWARD" in passed.err
    refused = schemas("check", subject, bad, "-o", "json")
    assert refused.code == 6
    assert json.loads(refused.out) == [
        {
            "reader": "new",
            "writer": "1",
            "rule": "READER_FIELD_MISSING_DEFAULT_VALUE",
            "path": "/fields/1",
            "detail": "price",
            "reader_has": "double",
            "writer_has": "record Order",
        }
    ]
    assert "incompatible under BACKWARD" in refused.err
    table = schemas("check", subject, bad)
    assert (table.code, table.out.splitlines()[0].split()) == (6, COLUMNS)
    assert schemas("register", subject, bad).code == 6


def test_a_change_of_the_format_is_told_in_the_registrys_words(schemas: Run, subject: str, file: File) -> None:
    schemas("register", subject, file("order.avsc", ORDER))
    refused = schemas("check", subject, file("order.json", "{}"))
    assert refused.code == 6
    assert "AVRO" in refused.out


def test_diff_shows_lines_and_what_each_side_cannot_read(schemas: Run, subject: str, file: File) -> None:
    schemas("register", subject, file("order.avsc", ORDER))
    schemas("register", subject, file("noted.avsc", NOTED))
    shown = schemas("diff", subject, "1", "latest")
    assert (shown.code, "each reads what the other one writes" in shown.err) == (0, True)
    assert shown.out.startswith("--- 1\n+++ 2\n")
    assert '+      "name": "note",' in shown.out
    assert "the same" in schemas("diff", subject, "2", "latest").err
    bad = file("priced.avsc", PRICED)
    found = json.loads(schemas("diff", subject, "2", bad, "-o", "json").out)
    assert [(one["reader"], one["writer"], one["detail"]) for one in found["findings"]] == [(bad, "2", "price")]


def test_deletion_is_shown_first_and_done_with_execute(schemas: Run, subject: str, file: File) -> None:
    schemas("register", subject, file("order.avsc", ORDER))
    schemas("register", subject, file("noted.avsc", NOTED))
    planned = schemas("delete", subject, "-o", "json")
    assert [(row["version"], row["deleted"]) for row in rows(planned)] == [(1, False), (2, False)]
    assert "add --execute" in planned.err
    (gone,) = rows(schemas("delete", subject, "--version", "1", "--execute", "-o", "json"))
    assert (gone["version"], gone["permanent"], gone["deleted"]) == (1, False, True)
    assert schemas("show", subject, "1").code == 3
    assert schemas("show", subject, "1", "--deleted").code == 0
    for_good = rows(schemas("delete", subject, "--permanent", "--execute", "-o", "json"))
    assert [(row["version"], row["deleted"]) for row in for_good] == [(1, True), (2, True)]
    assert schemas("show", subject, "1", "--deleted").code == 3
    assert schemas("delete", subject, "--permanent").code == 3


def test_a_version_is_deleted_for_good_at_once(schemas: Run, subject: str, file: File) -> None:
    schemas("register", subject, file("order.avsc", ORDER))
    schemas("delete", subject, "--version", "latest", "--permanent", "--execute")
    assert schemas("show", subject, "1", "--deleted").code == 3


def test_deleted_subjects_are_listed_if_asked(schemas: Run, subject: str, file: File) -> None:
    schemas("register", subject, file("order.avsc", ORDER))
    schemas("delete", subject, "--execute")
    assert schemas("list", subject).code == 3
    (row,) = rows(schemas("list", subject, "--deleted", "-o", "json"))
    assert row["deleted"] is True


def test_settings_are_shown_changed_and_inherited_again(schemas: Run, subject: str) -> None:
    before = json.loads(schemas("config", subject, "-o", "json").out)
    assert before == {"subject": subject, "compatibility": "BACKWARD", "inherited": True}
    done = schemas("config", subject, "--set", "compatibility=full", "--set", "normalize=true", "-o", "json")
    assert json.loads(done.out) == {"subject": subject, "compatibility": "FULL", "normalize": True, "inherited": False}
    assert json.loads(schemas("config", subject, "--delete", "-o", "json").out) == before
    assert "compatibility  BACKWARD" in schemas("config").out
    assert schemas("config", subject, "--delete").code == 3
    assert schemas("config", subject, "--set", "compatibility=SOME").code == 1


def test_the_mode_is_shown_changed_and_inherited_again(schemas: Run, subject: str, file: File) -> None:
    assert json.loads(schemas("mode", subject, "--set", "READONLY", "-o", "json").out)["mode"] == "READONLY"
    assert schemas("register", subject, file("order.avsc", ORDER)).code == 6
    after = json.loads(schemas("mode", subject, "--delete", "-o", "json").out)
    assert after == {"subject": subject, "mode": "READWRITE", "inherited": True}


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("show", "nobody"), 3, "Subject 'nobody' not found. (40401)\n  `ottla schemas list`"),
        (("show",), 2, "give one of SUBJECT, --id N and --guid GUID"),
        (("show", "--guid", "7"), 2, "invalid UUID value: '7'"),
        (("list", "nobody*"), 3, "no subject matches"),
        (("register", "s", "order"), 2, "Add --type avro, json or protobuf"),
        (("register", "s", "nowhere.avsc"), 1, "nowhere.avsc cannot be read: No such file"),
        (("register", "s", "nowhere.avsc", "--reference", "x"), 1, "cannot be read"),
        (("diff", "s", "1", "two"), 3, "not found"),
        (("config", "--set", "full"), 2, "as in --set compatibility=FULL"),
        (("config", "--set", "defaultMetadata={"), 2, "not JSON"),
        (("mode", "--delete"), 2, "inherited from nowhere"),
        (("mode", "--force"), 2, "--force goes with"),
        (("list", "--registry", "localhost"), 2, "localhost is not the address of a registry"),
        (("list", "-X", "ssl.ca.location=nowhere.pem", "--registry", "https://127.0.0.1:1"), 2, "nowhere.pem"),
    ],
)
def test_errors_name_the_remedy_and_have_their_codes(
    schemas: Run, arguments: tuple[str, ...], code: int, told: str
) -> None:
    done = schemas(*arguments)
    assert (done.code, told in done.err) == (code, True), done


def test_bad_references_and_schemas_are_told(schemas: Run, subject: str, file: File) -> None:
    path = file("bad.avsc", '{"type":"rekord"}')
    assert schemas("register", subject, path, "--reference", "Order").code == 2
    refused = schemas("register", subject, path)
    assert (refused.code, "rekord" in refused.err) == (1, True)


def test_who_may_not_is_told_how_to_say_who_asks(schemas: Run, tmp_path: Path) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text("basic.auth.user.info=ann:secret\n")
    with answering(lambda _: refuse(401, 40101, "Unauthorized")) as server:
        done = schemas("list", "--registry", server.url, "--client-config", str(properties))
    assert (done.code, "basic.auth.user.info" in done.err, "secret" in done.err) == (4, True, False)
    assert server.requests[0].headers["authorization"].startswith("Basic ")


def test_a_registry_that_is_not_there_is_named(schemas: Run) -> None:
    done = schemas("list", "--registry", "http://127.0.0.1:1")
    assert (done.code, "http://127.0.0.1:1" in done.err, "`ottla registry`" in done.err) == (5, True, True)
