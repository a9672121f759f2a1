"""The options of an exactly-once sink: how it writes, without what transactions decide."""

from collections.abc import Mapping
from typing import Final

from ottla.pipeline.cluster_options import PREFIX, cluster_options
from ottla.pipeline.errors import OptionError
from ottla.pipeline.writing.write_options import WriteOptions, write_options

# Options of Spark's own sinks.
_ARGUMENTS: Final = {"checkpointlocation": "checkpoint", "topic": "topic", "queryname": "name", "trigger": "trigger"}

_REFUSED: Final = {
    "transactional.id": "it is derived from the sink's name",
    "enable.idempotence": "transactions need it, and it is always on",
}


def sink_options(options: Mapping[str, str]) -> WriteOptions:
    """Read the options of a sink; the OptionError names one that is invalid."""
    for name in options:
        if not name.lower().startswith(PREFIX):
            argument = _ARGUMENTS.get(name.lower())
            remedy = f"it is the argument {argument}" if argument else f"all of them begin with {PREFIX}"
            raise OptionError(f"there is no option {name} of write_topic: {remedy}")
    cluster = cluster_options(options)
    found = write_options(cluster, _REFUSED)
    if (acks := dict(cluster.properties).get("acks", "all")) not in ("all", "-1"):
        raise OptionError(f"kafka.acks={acks}: what is written exactly once needs acks=all")
    return found
