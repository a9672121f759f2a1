from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest

from harness.http_answers import HttpAnswer, HttpAnswers, HttpRequest, answer, answering, refuse
from ottla.cli.data.record_io import record_decoding
from ottla.cli.data.record_io.record_decoding import SILENCE_S, RecordDecoding
from ottla.protocol.record_batch import CONTROL_FLAG
from ottla.schemas.framing import KEY_HEADER, VALUE_HEADER, frame, header_of
from ottla.schemas.registry_client.registry_client import RegistryClient
from ottla.schemas.registry_client.settings import RegistryClientSettings
from unit.cli.made_records import header, record

GUID = UUID(int=7)
WORD = {"schema": '"string"', "guid": str(GUID)}


class Console:
    """What was told, and the time."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.now_s = 0.0


@contextmanager
def decoding(server: HttpAnswers, console: Console) -> Iterator[RecordDecoding]:
    settings = RegistryClientSettings((server.url,), retries_max=0)
    made = RecordDecoding(lambda: RegistryClient(settings), console.told.append, lambda: console.now_s)
    yield made
    made.close()


@pytest.fixture
def console() -> Console:
    return Console()


def test_keys_and_values_are_decoded_each_by_its_own_mark(console: Console) -> None:
    headers = ((VALUE_HEADER, header_of(GUID)), ("other", b"x"))
    marked = record(b"\4no", frame(3, b"\6yes"), headers)
    with answering(lambda _: answer(WORD)) as server, decoding(server, console) as decodes:
        shown = decodes.as_text(marked)
        assert (shown.key, shown.value, shown.headers) == (b'"yes"', b'"no"', headers)
        row = decodes.json_of(marked)
    assert (row["key"], row["key_schema_id"]) == ("yes", 3)
    assert (row["value"], row["value_schema_id"], row["value_schema_guid"]) == ("no", None, str(GUID))
    assert "key_schema_guid" not in row


def test_a_registry_is_not_asked_about_what_has_no_mark(console: Console) -> None:
    control = record(frame(3, b""), None, batch=header(attributes=CONTROL_FLAG))
    with answering(lambda _: answer(WORD)) as server, decoding(server, console) as decodes:
        for one in (record(None), record(b""), record(b"\0\0\0\0"), record(b"\1\0\0\0\1\0"), control):
            assert decodes.as_text(one) == one
    assert (server.requests, console.told) == ([], [])


def test_a_header_that_is_no_guid_is_named(console: Console) -> None:
    with answering(lambda _: answer(WORD)) as server, decoding(server, console) as decodes:
        decodes.as_text(record(b"v", b"k", ((KEY_HEADER, b"\1short"),)))
    assert [told.startswith("orders-0 offset 7: its key is shown as it is") for told in console.told] == [True]


def test_a_registry_that_is_away_is_asked_again_after_a_while(console: Console) -> None:
    answers: list[HttpAnswer] = [refuse(500, 50004), answer(WORD)]

    def reply(_: HttpRequest) -> HttpAnswer:
        return answers[0]

    word = record(frame(3, b"\4ok"))
    with answering(reply) as server, decoding(server, console) as decodes:
        for _ in range(3):
            assert decodes.as_text(word) == word
        assert (len(server.requests), len(console.told)) == (1, 1)
        answers.pop(0)
        console.now_s = SILENCE_S
        assert decodes.as_text(word).value == b'"ok"'
    assert len(console.told) == 1


def test_there_is_a_bound_for_the_reasons_that_are_named(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_decoding, "_REASONS_MAX", 2)
    with answering(lambda _: answer(WORD)) as server, decoding(server, console) as decodes:
        for number in range(5):
            decodes.as_text(record(frame(number, b"\xff")))
    assert len(console.told) == 2
