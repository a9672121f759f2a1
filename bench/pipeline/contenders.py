"""Who is measured: a source, and how a stream gets into a topic."""

from dataclasses import dataclass

STOCK = "stock"


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    title: str
    source: str
    # The format of the sink; None is write_topic.
    sink: str | None


CONTENDERS = {
    contender.name: contender
    for contender in (
        Contender(STOCK, "Spark's Kafka connector", "kafka", "kafka"),
        Contender("ottla", "at least once", "ottla", "ottla"),
        Contender("exactly-once", "exactly once", "ottla", None),
    )
}
