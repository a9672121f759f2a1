"""The options of `format("ottla")` as a sink: those of Spark's Kafka sink, and the producer's properties."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ottla.client.properties import producer_settings
from ottla.pipeline.cluster_options import PREFIX, ClusterOptions, cluster_options, read_properties
from ottla.pipeline.errors import OptionError
from ottla.pipeline.writing.write_options import WriteOptions, write_options

# Spark passes all options on, and unknown ones are ignored: these would be missed.
_UNPREFIXED: Final = frozenset(
    {
        "acks",
        "batch.size",
        "bootstrap.servers",
        "client.id",
        "compression.type",
        "enable.idempotence",
        "security.protocol",
        "transaction.timeout.ms",
        "transactional.id",
    }
)


@dataclass(frozen=True, slots=True)
class AppendOptions:
    """What a writer is told; it travels to executors."""

    write: WriteOptions
    # Wins over the column; None if each row names its own.
    topic: str | None
    acks: int
    is_idempotent: bool
    creates_topics: bool
    max_block_ms: int
    transactional_id: str | None

    @property
    def cluster(self) -> ClusterOptions:
        return self.write.cluster


def append_options(options: Mapping[str, str]) -> AppendOptions:
    """Read the options of a writer; the OptionError names one that is invalid."""
    given = {name.lower(): value for name, value in options.items()}
    for name in sorted(given.keys() & _UNPREFIXED):
        raise OptionError(
            f"{name}={given[name]}: the properties of Kafka's clients begin with {PREFIX} ({PREFIX}{name})"
        )
    cluster = cluster_options(given)
    properties = dict(cluster.properties)
    if (headers := given.get("includeheaders", "true")).lower() not in ("true", "false"):
        raise OptionError(
            f"includeHeaders={headers} is not true or false (the column headers is written if it is there)"
        )
    topic = given.get("topic")
    if topic is not None and not topic.strip():
        raise OptionError(
            "the option topic is empty: name a topic, or leave it out and let the rows have a column topic"
        )
    producer = read_properties(lambda found: producer_settings(found, may_have_transactions=True), properties)
    return AppendOptions(
        write=write_options(cluster),
        topic=topic,
        acks=producer.acks,
        is_idempotent=producer.idempotent,
        creates_topics=producer.auto_create_topics,
        max_block_ms=int(producer.max_block_ms),
        transactional_id=producer.transactional_id,
    )
