import pytest

from ottla.pipeline.sink.marker import Decision, Marker, Undecidable, decide, parse_marker, plan_of


def test_a_marker_is_read_as_it_was_written() -> None:
    marker = Marker("q", 7, "p", 12)
    assert parse_marker(12, marker.to_text()) == marker


@pytest.mark.parametrize(
    "text", ["", "x", "[]", "{}", '{"query": "q"}', '{"query": "q", "batch": "x", "plan": "p"}', "null"]
)
def test_what_is_no_marker_is_none(text: str) -> None:
    assert parse_marker(0, text) is None


def test_two_plans_are_told_apart() -> None:
    assert plan_of("v1\na") == plan_of("v1\na") != plan_of("v1\nb")


@pytest.mark.parametrize("marker", [None, Marker("another", 9, "p")])
def test_the_first_batch_of_a_query_is_written(marker: Marker | None) -> None:
    assert decide(marker, "q", 0, "p", is_new=False) is Decision.WRITE


def test_the_batch_after_the_marker_is_written() -> None:
    assert decide(Marker("q", 3, "p3"), "q", 4, "p4", is_new=True) is Decision.WRITE


def test_a_batch_that_spark_runs_again_is_skipped_if_it_was_committed() -> None:
    assert decide(Marker("q", 3, "p3"), "q", 3, "p3", is_new=False) is Decision.SKIP


@pytest.mark.parametrize(
    ("marker", "batch", "plan", "why"),
    [
        (Marker("q", 3, "p3"), 3, "planned anew", "older than the output"),
        (Marker("q", 3, "p3"), 2, "p2", "older than the output"),
        (Marker("q", 3, "p3"), 5, "p5", "or the marker is"),
        (None, 1, "p1", "expired"),
        (Marker("another", 9, "p9"), 1, "p1", "two queries use one name"),
    ],
)
def test_what_nobody_can_know_is_refused(marker: Marker | None, batch: int, plan: str, why: str) -> None:
    with pytest.raises(Undecidable, match=why):
        decide(marker, "q", batch, plan, is_new=False)


def test_a_batch_that_was_planned_just_now_needs_no_marker_to_be_written() -> None:
    assert decide(None, "q", 41, "p41", is_new=True) is Decision.WRITE
    for marker in (Marker("another", 9, "p9"), Marker("q", 39, "p39")):
        with pytest.raises(Undecidable):
            decide(marker, "q", 41, "p41", is_new=True)
