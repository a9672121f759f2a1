import pytest

from ottla.config.units import unit_hint


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("retention.ms", "1h", ". It is in milliseconds: write 3600000 for 1h."),
        ("retention.ms", " 1.5 H ", ". It is in milliseconds: write 5400000 for 1.5 H."),
        ("retention.ms", "7d", ". It is in milliseconds: write 604800000 for 7d."),
        ("retention.ms", "soon", ". It is in milliseconds: write the number alone."),
        ("retention.ms", "1 MiB", ". It is in milliseconds: write the number alone."),
        ("log.retention.hours", "2d", ". It is in hours: write 48 for 2d."),
        ("log.retention.hours", "90m", ". It is in hours: write the number alone."),
        ("segment.bytes", "1GiB", ". It is in bytes: write 1073741824 for 1GiB."),
        ("segment.bytes", "512 kB", ". It is in bytes: write 524288 for 512 kB."),
        ("segment.bytes", "100M", ". It is in bytes: write 104857600 for 100M."),
        ("segment.bytes", "5ms", ". It is in bytes: write the number alone."),
        ("log.cleaner.dedupe.buffer.size", "64MB", ". It is in bytes: write 67108864 for 64MB."),
        ("log.cleaner.io.max.bytes.per.second", "1m", ". It is in bytes a second: write 1048576 for 1m."),
        ("num.partitions", "3h", ""),
    ],
)
def test_who_writes_a_unit_is_told_the_number(name: str, text: str, hint: str) -> None:
    assert unit_hint(name, text) == hint
