"""The options of an exactly-once sink: how it writes, without what transactions decide."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from ottla.pipeline.cluster_options import cluster_options
from ottla.pipeline.errors import OptionError
from ottla.pipeline.writing.write_options import WriteOptions, write_options

SinkOptions: TypeAlias = WriteOptions

_REFUSED: Final = {
    "transactional.id": "it is made of the sink's name",
    "enable.idempotence": "transactions need it, and it is always on",
}


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    """The options of a sink; OptionError names what cannot be one."""
    cluster = cluster_options(options)
    found = write_options(cluster, _REFUSED)
    if (acks := dict(cluster.properties).get("acks", "all")) not in ("all", "-1"):
        raise OptionError(f"kafka.acks={acks}: what is written exactly once needs acks=all")
    return found
