import pytest

from ottla.pipeline.sink.marker import Decision, Marker, Undecidable, decide, parse_marker


def test_a_marker_is_read_as_it_was_written() -> None:
    assert parse_marker(Marker("q", 7).to_text()) == Marker("q", 7)


@pytest.mark.parametrize("text", ["", "x", "[]", "{}", '{"query": "q"}', '{"query": "q", "batch": "x"}', "null"])
def test_what_is_no_marker_is_none(text: str) -> None:
    assert parse_marker(text) is None


@pytest.mark.parametrize("marker", [None, Marker("another", 9)])
def test_the_first_batch_of_a_query_is_written(marker: Marker | None) -> None:
    assert decide(marker, "q", 0, last_planned=-1) is Decision.WRITE
    assert decide(marker, "q", 0, last_planned=0) is Decision.WRITE


@pytest.mark.parametrize("last_planned", [3, 4])
def test_a_batch_after_the_marker_is_written(last_planned: int) -> None:
    assert decide(Marker("q", 3), "q", 4, last_planned) is Decision.WRITE


def test_a_batch_far_after_the_marker_is_written_too() -> None:
    assert decide(Marker("q", 3), "q", 9, last_planned=8) is Decision.WRITE


def test_a_batch_that_spark_runs_again_is_skipped_if_it_was_committed() -> None:
    assert decide(Marker("q", 3), "q", 3, last_planned=3) is Decision.SKIP


@pytest.mark.parametrize(
    ("marker", "batch", "last_planned", "why"),
    [
        (Marker("q", 3), 3, 2, "older than the output"),
        (Marker("q", 3), 2, 3, "older than the output"),
        (None, 1, 0, "expired"),
        (Marker("another", 9), 1, 0, "two queries use one name"),
    ],
)
def test_what_nobody_can_know_is_refused(marker: Marker | None, batch: int, last_planned: int, why: str) -> None:
    with pytest.raises(Undecidable, match=why):
        decide(marker, "q", batch, last_planned)
