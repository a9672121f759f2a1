from ottla.pipeline.failures import interruption_of, reason_of

FROM_WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "job.py", line 3, in f
ZeroDivisionError: division by zero

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
"""


def test_the_python_part_of_a_failure_is_told() -> None:
    told = reason_of(Exception(FROM_WORKER))
    assert told.endswith("ZeroDivisionError: division by zero")
    assert "org.apache.spark" not in told


def test_our_own_words_are_enough() -> None:
    text = f"{FROM_WORKER}ottla.pipeline.errors.PipelineError: topic x is gone: create it\n\tat java.lang.Thread.run(T)"
    assert reason_of(Exception(text)) == "topic x is gone: create it"


def test_a_failure_without_words_has_its_name() -> None:
    assert reason_of(KeyboardInterrupt()) == "KeyboardInterrupt"


def test_a_query_that_was_stopped_is_no_failure() -> None:
    stopped = interruption_of(Exception("calling o1\n: java.lang.InterruptedException\n\tat x.y(Z)\n" * 1000))
    assert stopped is not None
    assert str(stopped).endswith(": java.lang.InterruptedException\n")
    assert interruption_of(Exception(FROM_WORKER)) is None
