"""How rows become record batches: the cluster, and the producer's properties that concern a writer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ottla.client import Codec
from ottla.client.columns import BATCH_BYTES
from ottla.client.properties import ClientProperties, codec_named
from ottla.pipeline.cluster_options import PREFIX, ClusterOptions, read_properties
from ottla.pipeline.errors import OptionError

# Long enough for a batch that takes minutes. If a driver died and is not restarted, readers of committed records wait
# as long; a driver that is restarted ends that at once.
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
    """Read the producer's properties that concern batches; the OptionError names one that is invalid.

    `refused` are further properties that this way of writing refuses, and why.
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
