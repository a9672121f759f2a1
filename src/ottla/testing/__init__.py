"""For people who test against Kafka: a cluster in a child process, and pytest fixtures of it.

The fixtures `ottla_cluster` and `ottla_topic` come with the package, see `ottla.testing.pytest_plugin`. Names are
loaded when they are first used, because pytest imports this package at every start.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.testing.embedded_cluster import EmbeddedCluster
    from ottla.testing.embedded_node import ClusterError

__all__ = ["ClusterError", "EmbeddedCluster"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ottla.testing import embedded_cluster

    found: object = getattr(embedded_cluster, name)
    globals()[name] = found
    return found
