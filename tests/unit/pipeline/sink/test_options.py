import pytest

from ottla.pipeline.errors import OptionError
from ottla.pipeline.sink.options import sink_options

CLUSTER = {"kafka.bootstrap.servers": "a:1"}


def test_a_sink_has_the_producers_properties() -> None:
    given = {"kafka.batch.size": "1000", "kafka.transaction.timeout.ms": "5000", "kafka.acks": "all"}
    found = sink_options({**CLUSTER, **given})
    assert (found.batch_bytes, found.transaction_timeout_ms) == (1000, 5000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("transactional.id", "t"),
        ("enable.idempotence", "false"),
        ("acks", "1"),
        ("key.serializer", "x"),
        ("transaction.timeout.ms", "0"),
        ("batch.size", "0"),
        ("batch.size", "many"),
    ],
)
def test_what_a_sink_cannot_have_is_named(name: str, value: str) -> None:
    with pytest.raises(OptionError, match=f"kafka.{name}={value}"):
        sink_options({**CLUSTER, f"kafka.{name}": value})


@pytest.mark.parametrize(
    ("name", "why"),
    [("checkpointLocation", "it is the argument checkpoint"), ("topc", "all of them begin with kafka.")],
)
def test_options_of_other_sinks_are_refused(name: str, why: str) -> None:
    with pytest.raises(OptionError, match=f"no option {name} of write_topic: {why}"):
        sink_options({**CLUSTER, name: "x"})
