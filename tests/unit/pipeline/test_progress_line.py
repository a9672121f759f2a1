import json
from typing import Any

import pytest

from ottla.pipeline.progress_line import lag, progress_line

# As Spark 4.3 reported them, without the metrics of its state store.
OF_KAFKA = """
{"id": "5e9b6aad-240e-4e9f-93cd-4b052e431682", "runId": "2469e774-0b71-47f7-bb2a-58975790466c", "name": "counting",
 "timestamp": "2026-11-15T19:58:15.922Z", "batchId": 1, "batchDuration": 1915, "numInputRows": 300,
 "inputRowsPerSecond": 17.7, "processedRowsPerSecond": 156.7,
 "durationMs": {"addBatch": 1402, "commitOffsets": 43, "getBatch": 0, "latestOffset": 75, "queryPlanning": 330,
                "triggerExecution": 1909, "walCommit": 38},
 "stateOperators": [{"operatorName": "stateStoreSave", "numRowsTotal": 1007, "numRowsUpdated": 7}],
 "sources": [{"description": "KafkaV2[Subscribe[orders]]",
              "startOffset": {"orders": {"0": 150, "1": 150}}, "endOffset": {"orders": {"0": 300, "1": 300}},
              "latestOffset": {"orders": {"0": 500, "1": 500}}, "numInputRows": 300, "inputRowsPerSecond": 17.7,
              "processedRowsPerSecond": 156.7, "metrics": {"maxOffsetsBehindLatest": "200"}}],
 "sink": {"description": "ForeachBatchSink", "numOutputRows": -1}}
"""
OF_OTTLA = """
{"id": "0eba76f9-3b53-45f0-a217-a3a676d42b03", "runId": "573da5d5-b04d-4e25-90c6-94489d4f650f", "name": "big",
 "timestamp": "2026-11-15T20:40:03.784Z", "batchId": 1, "batchDuration": 960, "numInputRows": 300,
 "inputRowsPerSecond": 17.7, "processedRowsPerSecond": 312.5,
 "durationMs": {"addBatch": 866, "commitOffsets": 33, "getBatch": 0, "latestOffset": 2, "queryPlanning": 24,
                "triggerExecution": 960, "walCommit": 19},
 "stateOperators": [],
 "sources": [{"description": "PythonMicroBatchStreamWithTriggerAvailableNow@41646f4a",
              "startOffset": {"orders": {"0": 150, "1": 150}}, "endOffset": {"orders": {"0": 300, "1": 300}},
              "latestOffset": {"orders": {"0": 500, "1": 500}}, "numInputRows": 300, "inputRowsPerSecond": 17.7,
              "processedRowsPerSecond": 312.5}],
 "sink": {"description": "ForeachBatchSink", "numOutputRows": -1}}
"""


def reported(text: str, **changes: Any) -> dict[str, Any]:
    return {**json.loads(text), **changes}


def test_a_stateful_query_on_kafka() -> None:
    assert progress_line(reported(OF_KAFKA)) == (
        "counting  batch 1  read 300  in 18/s  done 157/s  lag 400  took 1909 ms  state 1,007 rows"
    )


def test_an_exactly_once_copy_of_a_topic() -> None:
    assert progress_line(reported(OF_OTTLA)) == "big  batch 1  read 300  in 18/s  done 312/s  lag 400  took 960 ms"


def test_a_query_without_a_name_has_its_id_and_a_sink_that_counts_its_rows() -> None:
    progress = reported(OF_KAFKA, name=None, stateOperators=[], sink={"description": "NoopTable", "numOutputRows": 300})
    line = progress_line(progress)
    assert line == "5e9b6aad  batch 1  read 300  wrote 300  in 18/s  done 157/s  lag 400  took 1909 ms"


def test_what_is_not_known_is_not_guessed() -> None:
    sources = [{"description": "RateStreamV2", "startOffset": 0, "endOffset": 1, "latestOffset": 1}]
    progress = reported(OF_KAFKA, sources=sources, stateOperators=[], durationMs={})
    del progress["inputRowsPerSecond"]
    assert progress_line(progress) == "counting  batch 1  read 300  in -  done 157/s  lag -  took -"


def test_what_a_query_observes_is_shown() -> None:
    progress = reported(OF_KAFKA, stateOperators=[], observedMetrics={"copy": {"not JSON": 1200}})
    assert progress_line(progress).endswith("took 1909 ms  not JSON 1,200")


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ([], None),
        ([{"endOffset": {"t": {"0": 5}}, "latestOffset": None}], None),
        ([{"endOffset": '{"t": {"0": 5}}', "latestOffset": '{"t": {"0": 7}}'}], 2),
        ([{"endOffset": "not JSON", "latestOffset": "{}"}], None),
        ([{"endOffset": {"t": {"0": 5}}, "latestOffset": {"t": {"0": 7, "1": 3}}}], 5),
        ([{"endOffset": {"t": {"0": 9}}, "latestOffset": {"t": {"0": 7}}}], 0),
        ([{"endOffset": {"t": {"0": 5}}, "latestOffset": {"t": {"0": 7}}}, {"endOffset": 3, "latestOffset": 4}], 2),
        (
            [
                {"endOffset": {"t": {"0": 5}}, "latestOffset": {"t": {"0": 7}}},
                {"endOffset": {"u": {"0": 1}}, "latestOffset": {"u": {"0": 4}}},
            ],
            5,
        ),
    ],
)
def test_the_lag_is_summed_over_the_sources_that_tell_it(sources: list[Any], expected: int | None) -> None:
    assert lag({"sources": sources}) == expected
