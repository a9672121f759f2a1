"""The permission table and the handlers must not drift apart (CVE-2026-41115)."""

from ottla.broker.handlers import load_handlers
from ottla.protocol.api_keys import ApiKey
from ottla.security.operations import (
    CLUSTER_OPERATIONS,
    GROUP_OPERATIONS,
    TOPIC_OPERATIONS,
    TRANSACTIONAL_ID_OPERATIONS,
    as_bits,
)
from ottla.security.permissions import PERMISSIONS, Resource


def test_every_served_api_declares_its_permission_and_nothing_else_does() -> None:
    assert {ApiKey(module.API_KEY) for module in load_handlers()} == set(PERMISSIONS)


def test_only_the_handshake_is_free() -> None:
    assert [key for key, permission in PERMISSIONS.items() if permission is None] == [ApiKey.API_VERSIONS]


def test_operations_exist_on_the_resource_they_are_asked_of() -> None:
    possible = {
        Resource.TOPIC: TOPIC_OPERATIONS,
        Resource.GROUP: GROUP_OPERATIONS,
        Resource.CLUSTER: CLUSTER_OPERATIONS,
        Resource.TRANSACTIONAL_ID: TRANSACTIONAL_ID_OPERATIONS,
    }
    for key, permission in PERMISSIONS.items():
        if permission is not None:
            operation, resource = permission
            assert operation in possible[resource], key.name


def test_operations_are_told_as_bits() -> None:
    # What Kafka's own tools print for a topic on a cluster without an authorizer.
    assert as_bits(TOPIC_OPERATIONS) == 3576
