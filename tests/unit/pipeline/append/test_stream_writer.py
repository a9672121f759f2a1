import pytest
from pyspark.sql.types import StructType

from ottla.pipeline.append.options import append_options
from ottla.pipeline.append.stream_writer import OttlaStreamWriter
from ottla.pipeline.errors import OptionError

OPTIONS = {"kafka.bootstrap.servers": "127.0.0.1:9092", "topic": "t"}


def writer(columns: str = "value string", *, overwrite: bool = False, **options: str) -> OttlaStreamWriter:
    schema = StructType()
    for column in columns.split(", "):
        schema.add(*column.split())
    given = OPTIONS | {name.replace("_", "."): value for name, value in options.items()}
    return OttlaStreamWriter(schema, append_options(given), overwrite=overwrite)


def test_a_writer_is_made_without_any_broker() -> None:
    assert writer("key binary, value binary")


def test_what_replaces_a_topic_is_refused_with_the_way_to_do_it() -> None:
    with pytest.raises(OptionError, match=r"complete .* ottla\.pipeline\.write_topic"):
        writer(overwrite=True)


def test_transactions_are_refused_with_the_way_to_have_them() -> None:
    with pytest.raises(OptionError, match=r"kafka\.transactional\.id=x: .* ottla\.pipeline\.write_topic"):
        writer(kafka_transactional_id="x")


@pytest.mark.parametrize("columns", ["key string", "value integer", "value string, amount integer"])
def test_columns_that_are_no_records_are_refused(columns: str) -> None:
    with pytest.raises(OptionError, match="value"):
        writer(columns)
