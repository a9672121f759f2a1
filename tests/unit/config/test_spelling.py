import pytest

from ottla.config.spelling import closest

NAMES = ("retention.ms", "retention.bytes", "segment.bytes", "max.message.bytes")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("retention.m", "retention.ms"),
        ("retentionms", "retention.ms"),
        ("max.mesage.bytes", "max.message.bytes"),
        ("segmnt.bytes", "segment.bytes"),
        ("nothing.like.it", None),
    ],
)
def test_a_slip_leads_to_the_name_that_was_meant(written: str, meant: str | None) -> None:
    assert closest(written, NAMES) == meant
