"""How rows become record batches: the cluster, and the producer's properties that mean something to a writer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ottla.client import Codec
from ottla.client.columns import BATCH_BYTES
from ottla.client.properties import ClientProperties, codec_named
from ottla.pipeline.cluster_options import PREFIX, ClusterOptions, read_properties
from ottla.pipeline.errors import OptionError

# Long enough for a batch that takes minutes. It is also how long a driver that died, and was not started again, keeps
# back those who read committed records alone; a driver that is started again ends that at once.
TRANSACTION_TIMEOUT_MS: Final = 300_000

_SERIALIZERS: Final = {
    "key.serializer": "keys are strings or bytes already",
    "value.serializer": "values are strings or bytes already",
}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What tasks on executors need to know too."""

    cluster: ClusterOptions
    codec: Codec = Codec.NONE
    compression_level: int | None = None
    batch_bytes: int = BATCH_BYTES
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS


def write_options(cluster: ClusterOptions, refused: Mapping[str, str] | None = None) -> WriteOptions:
    """What the producer's properties say of how batches are made; OptionError names what cannot be one.

    `refused` are properties that this way of writing cannot have either, and why.
    """
    properties = dict(cluster.properties)
    for name, reason in (_SERIALIZERS | dict(refused or {})).items():
        if name in properties:
            raise OptionError(f"{PREFIX}{name}={properties[name]} cannot be set for a sink: {reason}")

    def read(given: Mapping[str, str]) -> WriteOptions:
        known = ClientProperties(given)
        level = known.text("compression.level")
        return WriteOptions(
            cluster,
            codec_named(known.text("compression.type") or "none"),
            None if level is None else known.number("compression.level", 0, lowest=-(2**31)),
            known.number("batch.size", BATCH_BYTES, lowest=1),
            known.number("transaction.timeout.ms", TRANSACTION_TIMEOUT_MS, lowest=1),
        )

    return read_properties(read, properties)
