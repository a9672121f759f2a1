import json

import pytest

from ottla.pipeline.errors import OptionError, PipelineError
from ottla.pipeline.progress_line import lag
from ottla.pipeline.sink.checkpoint import topic_offsets
from ottla.pipeline.source.offsets import (
    from_json,
    listed,
    parse_numbers,
    parse_partitions,
    start_in,
    to_json,
    with_start,
)
from ottla.protocol.topic_partition import TopicPartition

A10, A2, B0 = TopicPartition("a", 10), TopicPartition("a", 2), TopicPartition("b", 0)


def test_offsets_are_written_in_order_whatever_order_they_have() -> None:
    written = to_json({B0: 1, A10: 3, A2: 2})
    assert written == {"a": {"2": 2, "10": 3}, "b": {"0": 1}}
    assert list(written["a"]) == ["2", "10"]
    assert from_json(written) == {A2: 2, A10: 3, B0: 1}


def test_the_end_of_a_first_batch_says_where_it_starts_and_is_an_end_as_any_other() -> None:
    end, start = {A10: 3, TopicPartition("with-dash", 0): 7}, {A10: 1, TopicPartition("with-dash", 0): 5}
    written = json.loads(json.dumps(with_start(end, start)))
    assert from_json(written) == end
    assert start_in(written) == start
    assert start_in(to_json(end)) is None
    # Who writes a pipeline's offsets to its group, and who shows its progress, see the end alone.
    assert topic_offsets(f"v1\n{{}}\n{json.dumps(written)}") == end
    latest = to_json(dict.fromkeys(end, 10))
    assert lag({"sources": [{"endOffset": written, "latestOffset": latest}]}) == 7 + 3


def test_a_checkpoint_of_another_source_is_refused_with_what_it_holds() -> None:
    with pytest.raises(PipelineError, match=r'are not those of topics: \{"index": 3\}'):
        from_json({"index": 3})


def test_numbers_of_an_option_are_read() -> None:
    assert parse_numbers("startingOffsets", '{"a": {"2": 5, "10": -1}}') == {A2: 5, A10: -1}


@pytest.mark.parametrize("text", ["earliest!", "[1]", '{"a": 5}', '{"a": {}}', '{"a": {"x": 1}}', '{"a": {"0": "1"}}'])
def test_what_is_not_in_this_form_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(OptionError, match=r'startingOffsets.*\{"topic": \{"0": 23'):
        parse_numbers("startingOffsets", text)


def test_partitions_are_read_or_refused() -> None:
    assert parse_partitions("assign", '{"b": [0], "a": [10, 2, 2]}') == (A2, A10, B0)
    for text in ("a", '{"a": 0}', '{"a": [-1]}', '{"a": ["0"]}', "{}", '{"a": []}'):
        with pytest.raises(OptionError, match="assign"):
            parse_partitions("assign", text)


def test_a_long_list_of_partitions_is_cut_in_messages() -> None:
    many = {TopicPartition("t", n) for n in range(12)}
    assert listed(many, 2) == "t-0, t-1 and 10 more"
    assert listed({A2}) == "a-2"
