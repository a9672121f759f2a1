"""The permission table and the handlers must not drift apart (CVE-2026-41115)."""

import pytest

from ottla.broker.handlers import load_handlers
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.listener_kinds import CONTROLLERS_ONLY, ListenerKind
from ottla.security.operations import (
    CLUSTER_OPERATIONS,
    GROUP_OPERATIONS,
    TOPIC_OPERATIONS,
    TRANSACTIONAL_ID_OPERATIONS,
    Operation,
    as_bits,
)
from ottla.security.permissions import CONTROLLER_PERMISSIONS, PERMISSIONS, Resource

TABLES = pytest.mark.parametrize(
    ("kind", "table"),
    [(ListenerKind.BROKER, PERMISSIONS), (ListenerKind.CONTROLLER, CONTROLLER_PERMISSIONS)],
    ids=["broker", "controller"],
)


@TABLES
def test_every_served_api_declares_its_permission_and_nothing_else_does(kind, table) -> None:
    assert {ApiKey(module.API_KEY) for module in load_handlers(kind)} == set(table)


@TABLES
def test_only_the_handshake_is_free(kind, table) -> None:
    assert [key for key, permission in table.items() if permission is None] == [ApiKey.API_VERSIONS]


def test_what_brokers_ask_of_controllers_is_for_the_cluster_alone() -> None:
    asked = [CONTROLLER_PERMISSIONS[key] for key in CONTROLLERS_ONLY if key in CONTROLLER_PERMISSIONS]
    assert set(asked) == {(Operation.CLUSTER_ACTION, Resource.CLUSTER)}


@TABLES
def test_operations_exist_on_the_resource_they_are_asked_of(kind, table) -> None:
    possible = {
        Resource.TOPIC: TOPIC_OPERATIONS,
        Resource.GROUP: GROUP_OPERATIONS,
        Resource.CLUSTER: CLUSTER_OPERATIONS,
        Resource.TRANSACTIONAL_ID: TRANSACTIONAL_ID_OPERATIONS,
    }
    for key, permission in table.items():
        if permission is not None:
            operation, resource = permission
            assert operation in possible[resource], key.name


def test_operations_are_told_as_bits() -> None:
    # What Kafka's own tools print for a topic on a cluster without an authorizer.
    assert as_bits(TOPIC_OPERATIONS) == 3576
