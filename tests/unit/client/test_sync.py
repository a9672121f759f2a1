"""The blocking facade has everything that the core has."""

import inspect

import pytest

from ottla.client import admin, client, consumer, sync, sync_consumer


def public(cls: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(cls, callable) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("core", "facade", "inner"),
    [
        (admin.Admin, sync.Admin, set()),
        (client.Client, sync.Client, set()),
        (
            consumer.Consumer,
            sync_consumer.Consumer,
            {"partitions_assigned", "partitions_lost", "partitions_revoked", "rebalance_due"},
        ),
    ],
)
def test_no_call_is_missing(core: type, facade: type, inner: set[str]) -> None:
    assert public(core) - inner == public(facade)
