"""The blocking facade has everything that the core has."""

import inspect

import pytest

from ottla.client import admin, client, consumer, producer, sync, sync_consumer, sync_producer, sync_transaction_owner
from ottla.client import transaction_owner as owner


def public(cls: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(cls, callable) if not name.startswith("_")}


INNER_OF_PRODUCER = {"abandon_block", "abort_block", "begin_block", "check_sendable", "send_checked"}


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
        (producer.Producer, sync_producer.Producer, INNER_OF_PRODUCER),
        (owner.TransactionOwner, sync_transaction_owner.TransactionOwner, {"end", "find_out_why_refused", "why_over"}),
    ],
)
def test_no_call_is_missing(core: type, facade: type, inner: set[str]) -> None:
    begun = {
        name for name in public(facade) if name.removeprefix("start_") in public(core) and name not in public(core)
    }
    assert public(core) - inner == public(facade) - begun
