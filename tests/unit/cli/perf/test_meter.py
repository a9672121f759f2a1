from ottla.cli.perf.meter import Meter, Tally


def meter(reports: list[Tally], **options: int) -> Meter:
    return Meter(0.0, 1.0, reports.append, **options)


def test_an_interval_is_reported_when_it_is_over() -> None:
    reports: list[Tally] = []
    counting = meter(reports)
    counting.add(10, 1_048_576, 0.5, 3.0)
    assert reports == []
    counting.add(30, 1_048_576, 1.0, 5.0)
    counting.add(5, 0, 1.5, 7.0)
    counting.finish()
    assert [(window.records, window.records_per_s, window.mebibytes) for window in reports] == [(40, 40.0, 2.0)]
    assert (counting.total.records, counting.total.seconds, counting.total.latencies.max_ms) == (45, 1.5, 7.0)


def test_a_warm_up_is_left_out_to_the_record() -> None:
    reports: list[Tally] = []
    counting = meter(reports, warmup_records=3)
    counting.add_all([9.0, 9.0, 9.0, 1.0, 1.0], 50, 0.5)
    counting.add_all([1.0] * 5, 50, 0.75)
    counting.finish()
    assert counting.total.records == 10
    assert counting.steady is not None
    assert (counting.steady.records, counting.steady.bytes, counting.steady.latencies.max_ms) == (7, 70, 1.0)


def test_a_row_has_latencies_only_if_there_are_any() -> None:
    counting = meter([])
    counting.add(10, 100, 0.5)
    counting.finish()
    assert list(counting.total.row()) == ["records", "seconds", "records_per_s", "mib_per_s"]
    counting.add(10, 100, 0.5, 2.0)
    counting.finish()
    assert counting.total.row()["p999_ms"] == 2.0
