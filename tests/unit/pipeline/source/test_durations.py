import pytest

from ottla.pipeline.errors import OptionError
from ottla.pipeline.source.durations import parse_duration_ms


@pytest.mark.parametrize(
    ("text", "duration_ms"), [("15m", 900_000), ("250", 250), ("2 H", 7_200_000), ("1min", 60_000), ("1500us", 1)]
)
def test_durations_have_the_units_of_spark(text: str, duration_ms: int) -> None:
    assert parse_duration_ms("maxTriggerDelay", text) == duration_ms


@pytest.mark.parametrize("text", ["", "m", "-1s", "1.5s", "3 weeks"])
def test_what_is_no_duration_is_named(text: str) -> None:
    with pytest.raises(OptionError, match="maxTriggerDelay"):
        parse_duration_ms("maxTriggerDelay", text)
