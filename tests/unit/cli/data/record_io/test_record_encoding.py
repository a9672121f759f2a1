from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest

from harness.http_answers import HttpAnswers, answer, answering, refuse
from ottla.cli.data.record_io import record_encoding
from ottla.cli.data.record_io.json_records import InputRecord, SchemaName
from ottla.cli.data.record_io.record_encoding import RecordEncoding
from ottla.schemas.framing import VALUE_HEADER, frame, header_of
from ottla.schemas.registry_client.errors import RegistryRefusal
from ottla.schemas.registry_client.registered import RegisteredSchema
from ottla.schemas.registry_client.registry_client import RegistryClient
from ottla.schemas.registry_client.settings import RegistryClientSettings
from ottla.schemas.schema import Schema

GUID = UUID(int=7)
WORD = RegisteredSchema(Schema('"string"'), 3)
OTHERS = (("a", b"1"), ("b", None))


@contextmanager
def encoding(server: HttpAnswers, value: RegisteredSchema | None = None) -> Iterator[RecordEncoding]:
    settings = RegistryClientSettings((server.url,), retries_max=0)
    made = RecordEncoding(lambda: RegistryClient(settings), value)
    yield made
    made.close()


def test_the_schema_of_the_command_is_stronger_than_that_of_a_line() -> None:
    line = InputRecord(b'"v"', b"k", OTHERS, value_schema=SchemaName(9))
    with answering(lambda _: answer({})) as server, encoding(server, WORD) as encodes:
        encoded = encodes.encoded(line)
    assert (encoded.value, encoded.key, encoded.headers) == (frame(3, b"\2v"), b"k", OTHERS)
    assert server.requests == []


def test_a_header_that_is_there_stays_where_it_is_and_an_old_one_goes() -> None:
    found = {"schema": '"string"', "guid": str(GUID)}
    mark = (VALUE_HEADER, header_of(GUID))
    with answering(lambda _: answer(found)) as server, encoding(server) as encodes:

        def headers(*given: tuple[str, bytes | None], name: SchemaName) -> object:
            return encodes.encoded(InputRecord(b'"v"', None, given, value_schema=name)).headers

        by_guid, by_id = SchemaName(None, GUID), SchemaName(3)
        assert headers(mark, *OTHERS, name=by_guid) == (mark, *OTHERS)
        assert headers(*OTHERS, name=by_guid) == (*OTHERS, mark)
        assert headers((VALUE_HEADER, b"old"), *OTHERS, name=by_guid) == (*OTHERS, mark)
        assert headers((VALUE_HEADER, b"old"), *OTHERS, name=by_id) == OTHERS


@pytest.mark.parametrize(
    ("text", "told"),
    [(b"{", "the value is not JSON"), (b"[" * 100_000, "the value is not JSON"), (b"1", "does not fit its schema")],
)
def test_what_does_not_fit_is_told(text: bytes, told: str) -> None:
    with (
        answering(lambda _: answer({})) as server,
        encoding(server, WORD) as encodes,
        pytest.raises(ValueError, match=told),
    ):
        encodes.encoded(InputRecord(text))


def test_a_schema_that_nobody_knows_is_the_registrys_refusal() -> None:
    with (
        answering(lambda _: refuse(404, 40403, "Schema 9 not found")) as server,
        encoding(server) as encodes,
        pytest.raises(RegistryRefusal, match="Schema 9"),
    ):
        encodes.encoded(InputRecord(b"1", value_schema=SchemaName(9)))


def test_there_is_a_bound_for_encoders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_encoding, "_WRITERS_MAX", 2)
    with answering(lambda _: answer({"schema": '"string"'})) as server, encoding(server) as encodes:
        for number in range(5):
            line = InputRecord(b'"v"', value_schema=SchemaName(number))
            assert encodes.encoded(line).value == frame(number, b"\2v")
    assert len(encodes._writers) <= 2
