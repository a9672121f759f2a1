"""Avro's own library judges: which texts are schemas, how they are written, and who reads whom.

Where ours differs, it is on purpose:

- Java takes a second definition of a record inside the record itself, because at that moment neither has fields yet.
- Java repeats a finding for each way that leads to it.
- Java compares each record of a writer's union with all of a reader's, names that differ included; what it learns there
  about recursive types can add findings to a pair that has some already.
- Where a reader's field is several of the writer's by its aliases, Java gives up on the pair.
"""

import json
import random
from typing import Any

import pytest

from harness.avro.rules import Question, ask_java, question
from harness.avro.schemas import SchemaMaker, evolve
from ottla.schemas.avro.avro_format import AvroFormat, AvroSchema
from ottla.schemas.avro.data_bounds import is_recursive
from ottla.schemas.errors import InvalidSchema

pytestmark = pytest.mark.java

GENERATED = 4000

# Schemas by hand: what chance does not come upon.
TEXTS = [
    '"string"',
    "string",
    "",
    "null",
    "{}",
    "[]",
    '[["int"]]',
    '["int","int"]',
    '{"type":"int","type":"long"}',
    '{"type":{"type":"int"}}',
    '{"type":"int","logicalType":"date","x":[1e400,-1e-400,0.1,1E5,123456789.0,1.0E-5,-0.0,0.001,1e7,9999999.0,1e21]}',
    '{"type":"int","big":123456789012345678901234567890,"text":"\\u001f\\u007f\\u2028\\/\\"\\\\ä😀"}',
    '/* c */ {"type": "int" // c\n}',
    '{"type":"int"} x',
    '{"type":"int"} {"type":"int"}',
    '{"type":"record","name":"R","fields":[]}',
    '{"type":"record","name":"R","doc":5,"namespace":5,"fields":[],"default":1,"logicalType":"x"}',
    '{"type":"record","name":"a.b.R","namespace":"c","fields":[{"name":"r","type":"R"},{"name":"s","type":"a.b.R"}]}',
    '{"type":"record","name":"R","namespace":"a","aliases":["A","b.B",".C"],"fields":[],"x":1}',
    '{"type":"record","name":"R","namespace":"a","fields":[{"name":"f","type":{"type":"record","name":"P",'
    '"namespace":"","fields":[{"name":"g","type":"a.R"},{"name":"h","type":"P"}]}},{"name":"i","type":"P"}]}',
    '{"type":"record","name":"int","namespace":"a","fields":[{"name":"f","type":"a.int"}]}',
    '{"type":"record","name":"record","fields":[{"name":"f","type":"record"}]}',
    '{"type":"record","name":"array","fields":[{"name":"f","type":["null","array"]}]}',
    '{"type":"record","name":"int","fields":[]}',
    '{"type":"record","name":"Ä日","fields":[{"name":"ß","type":"int"}]}',
    '{"type":"record","name":"😀","fields":[]}',
    '{"type":"record","name":"R","fields":[{"name":"a","type":"Later"},{"name":"b","type":{"type":"fixed",'
    '"name":"Later","size":3}}]}',
    '{"type":"record","name":"R","fields":[{"name":"a","type":"Missing"}]}',
    '{"type":"record","name":"R","fields":[{"name":"a","type":"int","order":"Ignore","default":"x","doc":"",'
    '"aliases":["b","b"],"x":null}]}',
    '{"type":"record","name":"R","fields":[{"name":"a","type":"int","order":"up"}]}',
    '{"type":"record","name":"R","fields":[{"name":"a","type":"int","order":null}]}',
    '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}',
    '{"type":"record","name":"R","fields":[{"name":"1","type":"int"}]}',
    '{"type":"record","name":"R","fields":[{"name":"d","type":"double","default":"NaN"},'
    '{"name":"e","type":"float","default":"-Infinity"},{"name":"f","type":"double","default":" 1.5f "},'
    '{"name":"g","type":["double"],"default":"NaN"},{"name":"h","type":"double","default":1}]}',
    '{"type":"record","name":"R","fields":[{"name":"d","type":"double","default":"x"}]}',
    '{"type":"error","name":"R","fields":[{"name":"r","type":{"type":"R","x":1}}]}',
    '{"type":"enum","name":"E","symbols":["A","B"],"default":"B","doc":"d","x":1,"aliases":["F"]}',
    '{"type":"enum","name":"E","symbols":["A"],"default":"B"}',
    '{"type":"enum","name":"E","symbols":["A"],"default":5}',
    '{"type":"enum","name":"E","symbols":["A","A"]}',
    '{"type":"enum","name":"E","symbols":["a-b"]}',
    '{"type":"enum","name":"E","symbols":[5]}',
    '{"type":"enum","name":"E"}',
    '{"type":"fixed","name":"F","size":16,"logicalType":"uuid","aliases":[]}',
    '{"type":"fixed","name":"F","size":-1}',
    '{"type":"fixed","name":"F","size":2.0}',
    '{"type":"fixed","name":"F","size":2147483639}',
    '{"type":"fixed","name":"F","size":2147483640}',
    '{"type":"array","items":{"type":"map","values":["null",{"type":"fixed","name":"F","size":1}]},"default":[],"x":{}}',
    '{"type":"array"}',
    '{"type":"record","name":"a..R","fields":[]}',
    '{"type":"record","name":"R","namespace":"a-b","fields":[]}',
    '{"type":"record","name":"R","aliases":"x","fields":[]}',
    '{"type":"record","name":"R","aliases":["x-y"],"fields":[]}',
    '[{"type":"enum","name":"E","symbols":["A"]},{"type":"record","name":"R","fields":[{"name":"e","type":'
    '{"type":"enum","name":"E","symbols":["A"]}}]}]',
    '[{"type":"enum","name":"E","symbols":["A"]},{"type":"record","name":"R","fields":[{"name":"e","type":'
    '{"type":"enum","name":"E","symbols":["B"]}}]}]',
]  # fmt: skip
REFERENCES = [
    '{"type":"record","name":"In","namespace":"a","fields":[{"name":"x","type":"int"}]}',
    '{"type":"enum","name":"E","namespace":"b","symbols":["A"]}',
    '{"type":"record","name":"Mid","namespace":"a","fields":[{"name":"in","type":"In"}]}',
]
REFERRING = [
    '{"type":"record","name":"R","namespace":"a","fields":[{"name":"f","type":"In"},{"name":"e","type":"b.E"},'
    '{"name":"m","type":["null","Mid"]}]}',
    '"a.Mid"',
    '["a.Mid","a.In"]',
    '{"type":"record","name":"In","namespace":"a","fields":[]}',
    '"a.Missing"',
]


def parse(text: str, references: list[str] | None = None) -> AvroSchema | None:
    named = {str(index): one for index, one in enumerate(references or [])}
    try:
        return AvroFormat().parse(text, named, is_new=False)
    except InvalidSchema:
        return None


def generated_pair(seed: int) -> Question:
    chance = random.Random(seed)
    schema = SchemaMaker(chance).make()
    other = evolve(chance, evolve(chance, schema)) if seed % 4 else SchemaMaker(chance).make()
    reader, writer = (schema, other) if seed % 2 else (other, schema)
    return question(json.dumps(reader), json.dumps(writer))


QUESTIONS = (
    [question(text, text) for text in TEXTS]
    + [question(text, text, REFERENCES) for text in REFERRING]
    + [generated_pair(seed) for seed in range(GENERATED)]
)


@pytest.fixture(scope="module")
def answers() -> list[dict[str, Any]]:
    return ask_java(QUESTIONS)


def redefines_itself(text: str) -> bool:
    try:
        AvroFormat().parse(text, {}, is_new=False)
    except InvalidSchema as error:
        return "is defined already" in str(error)
    return False


def test_the_same_texts_are_schemas_and_are_written_alike(answers: list[dict[str, Any]]) -> None:
    for asked, answer in zip(QUESTIONS, answers, strict=True):
        for side, text in (("reader", asked["reader"]), ("writer", asked["writer"])):
            ours = parse(text, list(asked["references"]))
            if ours is None and answer[side] is not None:
                assert redefines_itself(text), (text, answer)
                continue
            assert (None if ours is None else ours.canonical) == answer[side], answer.get(f"{side} refused")
            if ours is not None:
                assert ours.formatted("resolved") == answer[f"{side} resolved"]


def test_the_same_pairs_go_together_for_the_same_reasons(answers: list[dict[str, Any]]) -> None:
    compatible = incompatible = 0
    for asked, answer in zip(QUESTIONS, answers, strict=True):
        references = list(asked["references"])
        reader, writer = parse(asked["reader"], references), parse(asked["writer"], references)
        if reader is None or writer is None:
            continue
        ours = [(finding.rule, finding.path, finding.detail) for finding in reader.compare(writer)]
        if "gave up" in answer:
            assert "matches multiple fields" in answer["gave up"]
            assert any("by its aliases" in detail for _, _, detail in ours)
            continue
        theirs = list(dict.fromkeys(map(tuple, answer["findings"])))
        assert bool(ours) == bool(theirs), asked
        if is_recursive(reader.document) and is_recursive(writer.document):
            assert set(ours) <= set(theirs), asked
        else:
            assert ours == theirs, asked
        compatible, incompatible = compatible + (not ours), incompatible + bool(ours)
    # Neither answer is a matter of course.
    assert min(compatible, incompatible) > GENERATED / 4
