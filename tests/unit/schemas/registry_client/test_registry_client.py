from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from harness.http_answers import HttpAnswers, answer, answering
from ottla.schemas.registry_client.errors import RegistryRefusal, UnexpectedAnswer
from ottla.schemas.registry_client.registry_client import RegistryClient
from ottla.schemas.registry_client.settings import RegistryClientSettings
from ottla.schemas.schema import Reference, Schema
from unit.schemas.registry_client.texts import AVRO, EVERY

INCOMPATIBLE = Schema(AVRO.text.replace('"int"', '"string"'))
OTHER = Schema('{"type":"record","name":"Other","fields":[]}')


@pytest.mark.parametrize("kind", EVERY)
def test_a_schema_is_registered_and_found_by_id_guid_version_and_text(client: RegistryClient, kind: str) -> None:
    schema, subject = EVERY[kind], f"found-{kind}"
    schema_id = client.register(subject, schema)
    assert client.register(subject, schema) == schema_id
    found = client.version(subject)
    assert (found.subject, found.version, found.id, found.schema.type) == (subject, 1, schema_id, schema.type)
    assert client.schema_by_id(schema_id).schema == found.schema
    assert found.guid is not None
    assert client.schema_by_guid(found.guid).schema == found.schema
    assert client.look_up(subject, schema) == client.version(subject, 1) == client.version(subject, -1) == found
    assert (subject, 1) in client.places_of(schema_id)


def test_subjects_may_have_any_name(client: RegistryClient) -> None:
    name = "a/b c%2F?#ö"
    schema_id = client.register(name, AVRO)
    assert client.version(name, 1).id == schema_id
    assert name in client.subjects()
    assert client.versions(name) == [1]


def test_what_is_not_there_has_confluents_codes(client: RegistryClient) -> None:
    questions: dict[int, Callable[[], object]] = {
        40401: lambda: client.version("nobody"),
        40402: lambda: (client.register("one", AVRO), client.version("one", 9)),
        40403: lambda: client.schema_by_id(99_999),
        42202: lambda: client.version("one", "first"),
    }
    for code, ask in questions.items():
        with pytest.raises(RegistryRefusal) as refused:
            ask()
        assert refused.value.code == code
    with pytest.raises(RegistryRefusal):
        client.schema_by_guid(UUID(int=0))


def test_conflicts_are_told_in_the_registrys_words(client: RegistryClient) -> None:
    client.register("conflict", AVRO)
    assert client.find_conflicts("conflict", AVRO) is None
    conflicts = client.find_conflicts("conflict", INCOMPATIBLE)
    assert conflicts is not None
    assert "TYPE_MISMATCH" in conflicts[0]
    assert client.find_conflicts("conflict", INCOMPATIBLE, 1) == conflicts
    with pytest.raises(RegistryRefusal) as refused:
        client.register("conflict", INCOMPATIBLE)
    assert (refused.value.status, refused.value.code) == (409, 40901)


def test_deleted_versions_are_gone_unless_they_are_asked_for(client: RegistryClient) -> None:
    client.register("deleted", AVRO)
    assert client.version("deleted", 1).version == 1
    assert client.delete_subject("deleted") == [1]
    with pytest.raises(RegistryRefusal):
        client.version("deleted", 1)
    assert client.version("deleted", 1, deleted=True).version == 1
    assert "deleted" not in client.subjects("del")
    assert client.subjects("del", deleted=True) == ["deleted"]
    assert client.delete_version("deleted", 1, is_permanent=True) == 1
    assert client.subjects("del", deleted=True) == []


def test_the_newest_versions_are_listed_and_who_refers_to_them(client: RegistryClient) -> None:
    client.register("listed-a", OTHER)
    client.register("listed-b", AVRO)
    referring = Schema(
        '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"o","type":["null","Other"],"default":null}]}',
        references=(Reference("Other", "listed-a", 1),),
    )
    schema_id = client.register("listed-b", referring)
    newest = {one.subject: one.version for one in client.newest_versions("listed")}
    assert newest == {"listed-a": 1, "listed-b": 2}
    assert client.referrers("listed-a", 1) == [schema_id]
    assert client.referrers("listed-b", 1) == []


def test_settings_of_a_subject_go_before_those_of_the_registry(client: RegistryClient) -> None:
    subject = "settings"
    assert client.own_config(subject) is None
    assert client.config(subject)["compatibilityLevel"] == client.config()["compatibilityLevel"] == "BACKWARD"
    client.change_config({"compatibility": "FULL"}, subject)
    assert client.own_config(subject) == {"compatibilityLevel": "FULL"}
    assert client.config(subject)["compatibilityLevel"] == "FULL"
    assert client.delete_config(subject) == {"compatibilityLevel": "FULL"}
    assert client.own_mode(subject) is None
    assert client.change_mode("READONLY", subject) == "READONLY"
    assert (client.mode(subject), client.own_mode(subject), client.mode()) == ("READONLY", "READONLY", "READWRITE")
    client.delete_mode(subject)
    assert client.mode(subject) == "READWRITE"


def asking(server: HttpAnswers) -> RegistryClient:
    return RegistryClient(RegistryClientSettings((server.url,), retries_max=0))


def test_what_never_changes_is_asked_for_once_and_the_newest_version_each_time() -> None:
    with answering(lambda _: answer({"schema": '"int"', "guid": str(UUID(int=1))})) as server, asking(server) as client:
        for _ in range(3):
            client.schema_by_id(1)
            client.schema_by_id(1, "in another context")
            client.schema_by_guid(UUID(int=1))
            client.version("s", 1)
        assert len(server.requests) == 4
        for _ in range(3):
            client.version("s")
        assert len(server.requests) == 7


@pytest.mark.parametrize("content", [5, None, [{}], {"id": []}, {"mode": 1}, "text", [[]]])
def test_answers_of_something_else_are_told_as_such(content: Any) -> None:
    questions: tuple[Callable[[RegistryClient], object], ...] = (
        lambda client: client.version("s"),
        lambda client: client.places_of(1),
        lambda client: client.register("s", AVRO),
        lambda client: client.find_conflicts("s", AVRO),
        lambda client: client.newest_versions(),
        lambda client: client.versions("s"),
        lambda client: client.referrers("s", 1),
        lambda client: client.delete_version("s", 1),
    )
    with answering(lambda _: answer(content)) as server, asking(server) as client:
        told = 0
        for ask in questions:
            try:
                ask(client)
            except UnexpectedAnswer:
                told += 1
        assert told >= len(questions) - 2
