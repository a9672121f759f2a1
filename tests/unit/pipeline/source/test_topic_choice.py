import pytest

from ottla.pipeline.errors import OptionError
from ottla.pipeline.source.topic_choice import Assigned, Matching, Subscribed, parse_choice
from ottla.protocol.topic_partition import TopicPartition


def test_one_option_says_what_is_read() -> None:
    assert parse_choice({"subscribe": "b, a,,b "}) == Subscribed(("a", "b"))
    assert parse_choice({"subscribepattern": "a.*"}) == Matching("a.*")
    assert parse_choice({"assign": '{"a": [1]}'}) == Assigned((TopicPartition("a", 1),))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "there is none of them"),
        ({"subscribe": "a", "assign": "{}"}, "there are assign and subscribe"),
        ({"subscribe": " , "}, "names no topic"),
        ({"subscribepattern": "a("}, "is not a regular expression"),
        ({"subscribepattern": " "}, "is empty"),
    ],
)
def test_anything_else_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse_choice(options)


def test_a_pattern_fits_whole_names() -> None:
    assert Matching("a|ab").fits("ab")
    assert not Matching("a").fits("ab")
