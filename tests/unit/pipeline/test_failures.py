import pytest

from ottla.pipeline.errors import OptionError, PipelineError
from ottla.pipeline.failures import explain_failure, find_interruption, find_reason, spark_errors

FROM_WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "job.py", line 3, in f
ZeroDivisionError: division by zero

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
"""


def test_the_python_part_of_a_failure_is_told() -> None:
    told = find_reason(Exception(FROM_WORKER))
    assert told.endswith("ZeroDivisionError: division by zero")
    assert "org.apache.spark" not in told


def test_our_own_words_are_enough() -> None:
    text = f"{FROM_WORKER}ottla.pipeline.errors.PipelineError: topic x is gone: create it\n\tat java.lang.Thread.run(T)"
    assert find_reason(Exception(text)) == "topic x is gone: create it"


def test_a_failure_without_words_has_its_name() -> None:
    assert find_reason(KeyboardInterrupt()) == "KeyboardInterrupt"


def test_a_query_that_was_stopped_is_no_failure() -> None:
    stopped = find_interruption(Exception("calling o1\n: java.lang.InterruptedException\n\tat x.y(Z)\n" * 1000))
    assert stopped is not None
    assert str(stopped).endswith(": java.lang.InterruptedException\n")
    assert find_interruption(Exception(FROM_WORKER)) is None


def raised_by_spark(text: str) -> Exception:
    """An exception as Spark's are, known by where it is from."""
    return type("StreamingQueryException", (Exception,), {"__module__": "pyspark.errors.exceptions.captured"})(text)


IN_A_FUNCTION = """\
[STREAM_FAILED] Query [id = f8c8, runId = 9f86] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] An error
  File "/opt/pyspark/sql/utils.py", line 166, in call
    raise e
pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/home/ada/job.py", line 9, in boom
    def boom(x): raise ValueError("boom says the user")
ValueError: boom says the user
 SQLSTATE: 39000 SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = f8c8, runId = 9f86]
"""
IN_SQL = """\
[STREAM_FAILED] Query [id = b5a7, runId = 7e3a] terminated with exception: [CAST_INVALID_INPUT] The value 'x' of type \
"STRING" cannot be cast to "INT" because it is malformed. SQLSTATE: 22018
== SQL (line 1, position 1) ==
cast(value as int)
 SQLSTATE: XXKST
"""
OF_THE_SINK = """\
[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: An exception was raised by the Python Proxy.
Traceback (most recent call last):
  File "/opt/ottla/pipeline/sink/exactly_once.py", line 90, in __call__
    self._process(df, batch_id)
ottla.pipeline.errors.PipelineError: sink totals was stopped: PRODUCER_FENCED: another one has its name
"""


@pytest.mark.parametrize(
    ("text", "explanation"),
    [
        (IN_A_FUNCTION, "ValueError: boom says the user"),
        (IN_SQL, 'The value \'x\' of type "STRING" cannot be cast to "INT" because it is malformed.'),
        (OF_THE_SINK, "sink totals was stopped: PRODUCER_FENCED: another one has its name"),
        (
            f"ottla.pipeline.errors.PipelineError: sink totals: {IN_A_FUNCTION}",
            "ValueError: boom says the user",
        ),
        (
            "[USER_RAISED_EXCEPTION] PipelineError: a row goes to a topic that does not exist: x SQLSTATE: P0001",
            "a row goes to a topic that does not exist: x",
        ),
        (
            "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'selec'. SQLSTATE: 42601 (line 1, pos 0)\n\n== SQL ==\nx",
            "Syntax error at or near 'selec'. (line 1, pos 0)",
        ),
        (
            "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: Lost task 0.0 "
            "in stage 1.0 (TID 1) (host executor 2): ExecutorLostFailure (executor 2 exited)\nDriver stacktrace:",
            "ExecutorLostFailure (executor 2 exited)",
        ),
    ],
)
def test_an_error_of_spark_is_explained_by_where_it_began(text: str, explanation: str) -> None:
    assert explain_failure(raised_by_spark(text)) == explanation


def test_errors_of_others_keep_their_name_and_ours_do_not_need_it() -> None:
    assert explain_failure(KeyError("price")) == "KeyError: 'price'"
    assert explain_failure(PipelineError("no topic")) == "no topic"
    assert explain_failure(RuntimeError()) == "RuntimeError"


def test_only_what_spark_raises_becomes_an_error_of_the_pipeline() -> None:
    with pytest.raises(PipelineError, match=r"^boom$"), spark_errors():
        raise raised_by_spark("[CONDITION] boom SQLSTATE: 42000")
    with pytest.raises(KeyError), spark_errors():
        raise KeyError("price")
    with pytest.raises(OptionError), spark_errors():
        raise OptionError("wrong")


REFUSED_BY_A_READER = """\
[STREAM_FAILED] Query [id = be16, runId = c762] terminated with exception: [PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR]
Traceback (most recent call last):
  File "/opt/ottla/pipeline/source/options.py", line 9, in check
    raise OptionError(text)
ottla.pipeline.errors.OptionError: there is no option startingofsets: is startingOffsets meant?

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/opt/pyspark/sql/streaming/python_streaming_source_runner.py", line 250, in main
    reader.stop()
    ^^^^^^
UnboundLocalError: cannot access local variable 'reader' where it is not associated with a value
 SQLSTATE: 38000
"""


def test_what_spark_stumbles_over_afterwards_is_no_reason() -> None:
    told = explain_failure(raised_by_spark(REFUSED_BY_A_READER))
    assert told == "there is no option startingofsets: is startingOffsets meant?"
    # What the user's own code raises while it handles something is.
    own = REFUSED_BY_A_READER.replace("/opt/pyspark/sql/streaming/", "/home/ada/")
    assert explain_failure(raised_by_spark(own)).startswith("UnboundLocalError")


def test_what_the_client_raises_in_a_process_of_sparks_is_told_without_its_frames() -> None:
    text = (
        "Failed to initialize Python data source writer: Traceback (most recent call last):\n"
        '  File "data_source.py", line 50, in writer\n'
        "ottla.client.errors.BrokerUnreachable: 127.0.0.1:1 refuses connections: is a broker running there?\n"
    )
    assert explain_failure(raised_by_spark(text)) == "127.0.0.1:1 refuses connections: is a broker running there?"


def test_what_java_raises_is_told_without_the_call() -> None:
    text = "An error occurred while calling o1.start.\n: java.io.IOException: /etc/passwd is no directory\n\tat a.b(C)"
    assert explain_failure(raised_by_spark(text)) == "/etc/passwd is no directory"
