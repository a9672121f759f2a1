import pytest

from ottla.cli.access.property_names import slip


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("lingr.ms", "linger.ms"),
        ("isolation.levle", "isolation.level"),
        ("linger.ms", None),
        ("metadata.max.idle.ms", None),
        ("statistics.interval.ms", None),
        ("debug", None),
    ],
)
def test_a_slip_is_noticed_and_a_name_that_exists_is_none(written: str, meant: str | None) -> None:
    assert slip(written) == meant
