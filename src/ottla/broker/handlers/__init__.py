"""One module per API, named after its key: k00_produce, k01_fetch, and so on.

To serve a new API, add its module here: the table of a listener is read from the folders, and ApiVersions from the
table. APIs that only controllers serve are in `ottla.broker.controller.handlers`.
"""

import importlib
import pkgutil
from types import ModuleType
from typing import Final, cast

from ottla.broker.controller import handlers as of_controllers
from ottla.broker.requests.dispatch import HandlerModule
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.listener_kinds import ListenerKind

# Handlers of brokers that answer the same on a controller's listener. Others that Kafka serves there have another
# meaning: Fetch is that of the quorum, DescribeCluster names controllers, DescribeConfigs the controller's own
# settings.
_ON_CONTROLLERS_TOO: Final = frozenset(
    {
        ApiKey.API_VERSIONS,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.ELECT_LEADERS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
    }
)


def load_handlers(kind: ListenerKind = ListenerKind.BROKER) -> list[HandlerModule]:
    """The handler modules of a kind of listener, by API key."""
    brokers = _modules(importlib.import_module(__name__))
    if kind is ListenerKind.BROKER:
        return brokers
    shared = [module for module in brokers if module.API_KEY in _ON_CONTROLLERS_TOO]
    return sorted(shared + _modules(of_controllers), key=lambda module: module.API_KEY)


def _modules(package: ModuleType) -> list[HandlerModule]:
    names = sorted(found.name for found in pkgutil.iter_modules(package.__path__) if found.name.startswith("k"))
    return [cast(HandlerModule, importlib.import_module(f"{package.__name__}.{name}")) for name in names]
