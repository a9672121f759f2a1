"""Apicurio's registry judges the same steps of schemas as ours.

Avro's rules are Avro's own, and both agree on every step. For JSON Schema and Protobuf each registry has rules of its
own; ours are Confluent's as its documentation and its registry's findings have them, and what differs is listed here
with the reason. A difference that is not listed fails, and so does one that is gone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from harness.apicurio import ApicurioProcess
from harness.java import QUICK_START
from harness.registries import RegistryProcess
from harness.schema_pairs import PAIRS

pytestmark = pytest.mark.java

FORTH, BACK = "forth", "back"
BOTH = (FORTH, BACK)


@dataclass(frozen=True, slots=True)
class Difference:
    """A step that the two judge differently, and what ours says of it."""

    step: str
    ways: tuple[str, ...]
    is_compatible: bool
    reason: str


_STAYS_READABLE = "Confluent finds no change that a reader of the wire format would notice"
_REMOVED = "Confluent lets fields go; Apicurio wants what went to be reserved"
_SAME_WIRE = "Confluent lets a scalar become another of its wire type: integers and enums, texts, fixed of one size"
_LABELS = "Confluent compares labels that both texts write; proto3 writes none for a single field"

DIFFERENCES = {
    "AVRO": [],
    "JSON": [
        Difference(
            "a required property with default comes to a closed object",
            (FORTH,),
            True,
            "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN_CONTENT_MODEL is among Confluent's compatible changes",
        ),
        Difference(
            "a type becomes nullable", (FORTH,), True, "Confluent reads a list of types as a choice, which was extended"
        ),
        Difference(
            "a constant comes", (FORTH,), False, "the new schema refuses texts that the old one allows: a plain error"
        ),
        Difference("a choice comes", (FORTH,), True, "the old schema is one of the new choices (SUM_TYPE_EXTENDED)"),
        Difference(
            "what is excluded grows",
            (BACK,),
            True,
            "the new schema excludes less; Confluent compares what is excluded the other way round (NOT_TYPE_EXTENDED)",
        ),
    ],
    "PROTOBUF": [
        Difference("a field comes", (BACK,), True, _REMOVED),
        Difference("a nested message gets a field", (BACK,), True, _REMOVED),
        Difference("an enum gets a value", (BACK,), True, _REMOVED),
        Difference("a removed field is reserved", BOTH, True, _REMOVED),
        Difference("a field is renamed", BOTH, True, _STAYS_READABLE),
        Difference("an enum's value is renamed", BOTH, True, _STAYS_READABLE),
        Difference("a service comes", (BACK,), True, _STAYS_READABLE),
        Difference("a field changes its number", BOTH, True, "to Confluent one field went and another came"),
        Difference("int32 to int64", BOTH, True, _SAME_WIRE),
        Difference("int32 to bool", BOTH, True, _SAME_WIRE),
        Difference("fixed32 to sfixed32", BOTH, True, _SAME_WIRE),
        Difference("string to bytes", BOTH, True, _SAME_WIRE),
        Difference("an enum becomes a number", BOTH, True, _SAME_WIRE),
        Difference("a map's values get wider", BOTH, True, _SAME_WIRE),
        Difference("a field becomes repeated", BOTH, True, _LABELS),
        Difference("a text becomes repeated", BOTH, True, _LABELS),
        Difference("a field becomes optional", BOTH, True, _LABELS),
        Difference("two fields join a new oneof", (FORTH,), False, "MULTIPLE_FIELDS_MOVED_TO_ONEOF: one would be lost"),
        Difference("a field joins a oneof", (FORTH,), False, "FIELD_MOVED_TO_EXISTING_ONEOF: one would be lost"),
        Difference("a field joins a oneof", (BACK,), False, "ONEOF_FIELD_REMOVED"),
        Difference("the package changes", BOTH, False, "PACKAGE_CHANGED: every message has another name"),
    ],
}


@pytest.fixture(scope="module")
def apicurio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApicurioProcess]:
    process = ApicurioProcess(tmp_path_factory.mktemp("apicurio"), options=QUICK_START)
    process.start()
    # Ours does so by itself.
    httpx.put(f"{process.url}/config", json={"compatibility": "BACKWARD"}).raise_for_status()
    yield process
    process.close()


def judge(client: httpx.Client, subject: str, kind: str, before: str, after: str) -> bool:
    """Whether the version after may follow the one before, where it has to read what that one wrote."""
    client.post(f"/subjects/{subject}/versions", json={"schema": before, "schemaType": kind}).raise_for_status()
    asked = {"schema": after, "schemaType": kind}
    answer = client.post(f"/compatibility/subjects/{subject}/versions/latest", json=asked).raise_for_status()
    return bool(answer.json()["is_compatible"])


@pytest.mark.parametrize("kind", PAIRS)
def test_both_registries_judge_alike_but_for_what_is_listed(
    registry: RegistryProcess, apicurio: ApicurioProcess, kind: str
) -> None:
    found = set()
    with (
        httpx.Client(base_url=registry.url, timeout=30) as ours,
        httpx.Client(base_url=apicurio.url, timeout=30) as theirs,
    ):
        for number, (step, (before, after)) in enumerate(PAIRS[kind].items()):
            for way, texts in ((FORTH, (before, after)), (BACK, (after, before))):
                subject = f"second-opinion-{kind}-{number}-{way}"
                verdict = judge(ours, subject, kind, *texts)
                if judge(theirs, subject, kind, *texts) != verdict:
                    found.add((step, way, verdict))
    assert found == {(one.step, way, one.is_compatible) for one in DIFFERENCES[kind] for way in one.ways}
