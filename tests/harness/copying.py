"""A pipeline inside the session of the tests: topic -> mark -> topic, to the end of what is there, and its account."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.pipeline_ledger import (
    differences,
    expected_rows,
    open_transactions,
    read_by_ottla,
    write_rows,
)
from harness.transactions import committed_offsets, read_by_confluent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

END_TIMEOUT_S = 180


@dataclass
class Copying:
    spark: "SparkSession"
    bootstrap: str
    name: str
    input: str
    output: str
    partitions: int
    checkpoint: Path
    # In each partition of the input, so far.
    count: int = 0

    def feed(self, count: int) -> None:
        """So many more records into each partition."""
        write_rows(self.bootstrap, self.input, self.partitions, self.count + count, self.count)
        self.count += count

    def stream(self, **options: str) -> "DataFrame":
        """The input, marked."""
        from pyspark.sql import functions as F

        given = {"subscribe": self.input, "startingOffsets": "earliest", **options}
        reader = self.spark.readStream.format("ottla").option("kafka.bootstrap.servers", self.bootstrap)
        marked = F.concat(F.col("value"), F.lit("!").cast("binary"))
        return reader.options(**given).load().select("key", marked.alias("value"))

    def start(self, frame: "DataFrame", *, trigger: dict[str, Any] | None = None, **options: str) -> Any:
        from ottla.pipeline import write_topic

        return write_topic(
            frame,
            name=self.name,
            topic=self.output,
            checkpoint=str(self.checkpoint),
            options={"kafka.bootstrap.servers": self.bootstrap, **options},
            trigger=trigger,
        )

    def run(self, frame: "DataFrame | None" = None, **source_options: str) -> None:
        """To the end of the input; raises what the query dies of."""
        self.finish(self.start(frame or self.stream(**source_options), trigger={"availableNow": True}))

    def finish(self, query: Any) -> None:
        try:
            assert query.awaitTermination(END_TIMEOUT_S), "the query has not ended"
        finally:
            query.stop()

    def check(self) -> None:
        """Exactly the input is in the output, for two readers; the group stands at its end; nothing is open."""
        expected = expected_rows(self.partitions, self.count)
        readers: tuple[Callable[..., Any], ...] = (read_by_confluent, read_by_ottla)
        for read in readers:
            wrong = differences(expected, read(self.bootstrap, self.output, self.partitions))
            assert not wrong, (read.__name__, wrong[:10])
        assert (found := self.committed()) == [self.count] * self.partitions, found
        assert f"ottla-sink-{self.name}" not in open_transactions(self.bootstrap)

    def committed(self) -> list[int]:
        return committed_offsets(self.bootstrap, self.name, self.input, self.partitions)
