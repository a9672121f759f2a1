"""How a sink writes: its cluster, and the producer's properties that mean something to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ottla.client import Codec
from ottla.client.properties import ClientProperties, codec_named
from ottla.pipeline.cluster_options import ClusterOptions, cluster_options, read_properties
from ottla.pipeline.errors import OptionError

# Long enough for a batch that takes minutes. It is also how long a driver that died, and was not started again, keeps
# back those who read committed records alone; a driver that is started again ends that at once.
TRANSACTION_TIMEOUT_MS: Final = 300_000
# Below what topics accept by default (max.message.bytes), uncompressed.
BATCH_BYTES: Final = 1_000_000

_REFUSED: Final = {
    "transactional.id": "it is made of the sink's name",
    "enable.idempotence": "transactions need it, and it is always on",
    "key.serializer": "keys are strings or bytes already",
    "value.serializer": "values are strings or bytes already",
}


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """What tasks on executors need to know too."""

    cluster: ClusterOptions
    codec: Codec = Codec.NONE
    compression_level: int | None = None
    batch_bytes: int = BATCH_BYTES
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    """The options of a sink; OptionError names what cannot be one."""
    cluster = cluster_options(options)
    properties = dict(cluster.properties)
    for name, reason in _REFUSED.items():
        if name in properties:
            raise OptionError(f"kafka.{name}={properties[name]} cannot be set for a sink: {reason}")
    if properties.get("acks", "all") not in ("all", "-1"):
        raise OptionError(f"kafka.acks={properties['acks']}: what is written exactly once needs acks=all")
    return write_options(cluster)


def write_options(cluster: ClusterOptions) -> SinkOptions:
    """What the producer's properties say of how batches are made; OptionError names what cannot be one."""

    def read(given: Mapping[str, str]) -> SinkOptions:
        known = ClientProperties(given)
        level = known.text("compression.level")
        return SinkOptions(
            cluster,
            codec_named(known.text("compression.type") or "none"),
            None if level is None else known.number("compression.level", 0, lowest=-(2**31)),
            known.number("batch.size", BATCH_BYTES, lowest=1),
            known.number("transaction.timeout.ms", TRANSACTION_TIMEOUT_MS, lowest=1),
        )

    return read_properties(read, dict(cluster.properties))
