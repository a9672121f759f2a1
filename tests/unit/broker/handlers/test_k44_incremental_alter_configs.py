"""Codes and messages are those that Kafka 4.3 gave for the same requests, unless said otherwise."""

import asyncio
import logging

import pytest

from harness.config_services import ConfigServices, context
from ottla.broker.handlers import k44_incremental_alter_configs as k44
from ottla.metadata.image import ResourceType
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32

Change = tuple[str, int, str | None]
Resource = tuple[int, str, list[Change]]


def alter(
    services: ConfigServices, *resources: Resource, validate_only: bool = False
) -> list[tuple[int, str | None, int, str]]:
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=resource_type,
                resource_name=name,
                configs=[AlterableConfig(name=key, config_operation=kind, value=value) for key, kind, value in changes],
            )
            for resource_type, name, changes in resources
        ],
        validate_only=validate_only,
    )
    response = asyncio.run(k44.handle(context(services, k44.API_KEY, 1), request))
    return [(row.error_code, row.error_message, row.resource_type, row.resource_name) for row in response.responses]


REFUSED: list[tuple[int, str, list[Change], ErrorCode, str]] = [
    (TOPIC, "nope", [("retention.ms", SET, "5")], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "nope"),
    (TOPIC, "", [("retention.ms", SET, "5")], ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed."),
    (TOPIC, "a b", [("retention.ms", SET, "5")], ErrorCode.INVALID_TOPIC_EXCEPTION, "'a b'"),
    (TOPIC, "orders", [("foo", SET, "5")], ErrorCode.INVALID_CONFIG, "Unknown topic config name: foo"),
    (TOPIC, "orders", [("retention.ms", SET, "x")], ErrorCode.INVALID_CONFIG, "Not a number of type LONG"),
    (TOPIC, "orders", [("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST, "Null value not supported for : ret"),
    (TOPIC, "orders", [("retention.ms", APPEND, "5")], ErrorCode.INVALID_CONFIG, "Can't APPEND to "),
    (TOPIC, "orders", [("retention.ms", 9, "5")], ErrorCode.INVALID_REQUEST, "9"),
    (
        TOPIC,
        "orders",
        [("retention.ms", SET, "5"), ("retention.ms", SET, "6")],
        ErrorCode.INVALID_REQUEST,
        "Error due to duplicate config keys",
    ),
    (BROKER, "1", [("num.partitions", SET, "5")], ErrorCode.INVALID_REQUEST, "Cannot update these configs dynamically"),
    (BROKER, "7", [("log.cleaner.threads", SET, "2")], ErrorCode.INVALID_REQUEST, "expected 1, but received 7"),
    (BROKER, "x", [("log.cleaner.threads", SET, "2")], ErrorCode.INVALID_REQUEST, "Node id must be an integer"),
    (BROKER, "", [("listeners", SET, "PLAINTEXT://:1")], ErrorCode.INVALID_REQUEST, "broker id must be specified"),
    (GROUP, "", [("consumer.session.timeout.ms", SET, "50000")], ErrorCode.INVALID_REQUEST, "Default group resources"),
    (GROUP, "g", [("consumer.session.timeout.ms", SET, "5")], ErrorCode.INVALID_CONFIG, "greater than or equal to"),
    (CLIENT_METRICS, "", [("interval.ms", SET, "500")], ErrorCode.INVALID_REQUEST, "Subscription name can't be empty"),
    (CLIENT_METRICS, "s", [("interval.ms", SET, "5")], ErrorCode.INVALID_REQUEST, "between 100 and 3600000"),
    (77, "x", [("x", SET, "1")], ErrorCode.INVALID_REQUEST, "Unknown resource type 77"),
    (LOGGER, "3", [("root", SET, "INFO")], ErrorCode.INVALID_REQUEST, "Unexpected node id. Expected 1, but received 3"),
    (LOGGER, "", [("root", SET, "INFO")], ErrorCode.INVALID_REQUEST, "Node id must be an integer, but it is: "),
    (LOGGER, "1", [("root", APPEND, "INFO")], ErrorCode.INVALID_REQUEST, "APPEND operation is not allowed for the"),
    (LOGGER, "1", [("root", DELETE, None)], ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger"),
    (LOGGER, "1", [("root", SET, None)], ErrorCode.INVALID_REQUEST, "Null value not supported for : root"),
    (LOGGER, "1", [("no.such", SET, "INFO")], ErrorCode.INVALID_CONFIG, "Logger no.such does not exist!"),
]


@pytest.mark.parametrize(("resource_type", "name", "changes", "code", "message"), REFUSED)
def test_a_wrong_change_is_refused_and_changes_nothing(
    resource_type: int, name: str, changes: list[Change], code: ErrorCode, message: str
) -> None:
    services = ConfigServices()
    before = services.image
    ((error_code, error_message, *resource),) = alter(services, (resource_type, name, changes))
    assert error_code == code
    assert message in (error_message or "")
    assert resource == [resource_type, name]
    assert services.image == before


def test_a_topic_is_changed_key_by_key() -> None:
    services = ConfigServices()
    alter(services, (TOPIC, "orders", [("retention.ms", SET, "5"), ("segment.ms", SET, "6")]))
    assert alter(services, (TOPIC, "orders", [("retention.ms", DELETE, None), ("flush.ms", SET, "7")])) == [
        (0, None, TOPIC, "orders")
    ]
    assert dict(services.image.configs.topic("orders")) == {"segment.ms": "6", "flush.ms": "7"}


def test_a_list_grows_from_its_default_and_shrinks_to_nothing() -> None:
    services = ConfigServices()

    def change(kind: int, value: str) -> str:
        assert alter(services, (TOPIC, "orders", [("cleanup.policy", kind, value)]))[0][0] == 0
        return services.image.configs.topic("orders")["cleanup.policy"]

    assert change(APPEND, "compact") == "delete,compact"
    assert change(APPEND, "compact") == "delete,compact"
    assert change(SUBTRACT, "delete") == "compact"
    assert change(SUBTRACT, "compact") == ""


def test_deleting_what_is_not_there_is_no_error() -> None:
    services = ConfigServices()
    assert alter(services, (TOPIC, "orders", [("foo", DELETE, None)])) == [(0, None, TOPIC, "orders")]


def test_a_broker_and_the_default_of_all_are_changed_apart() -> None:
    services = ConfigServices()
    assert [row[0] for row in alter(services, (BROKER, "1", [("log.retention.ms", SET, "5")]))] == [0]
    assert [row[0] for row in alter(services, (BROKER, "", [("log.cleaner.threads", SET, "2")]))] == [0]
    assert dict(services.image.configs.broker(1)) == {"log.retention.ms": "5"}
    assert dict(services.image.configs.cluster_default()) == {"log.cleaner.threads": "2"}


def test_groups_and_subscriptions_have_configs_too() -> None:
    services = ConfigServices()
    alter(
        services,
        (GROUP, "g", [("consumer.session.timeout.ms", SET, "50000")]),
        (CLIENT_METRICS, "s", [("match", SET, "client_id=a.*")]),
    )
    assert dict(services.image.configs.of(ResourceType.GROUP, "g")) == {"consumer.session.timeout.ms": "50000"}
    assert dict(services.image.configs.of(ResourceType.CLIENT_METRICS, "s")) == {"match": "client_id=a.*"}


def test_each_resource_succeeds_or_fails_alone_in_the_order_asked() -> None:
    services = ConfigServices()
    rows = alter(
        services,
        (TOPIC, "nope", [("retention.ms", SET, "5")]),
        (77, "x", []),
        (TOPIC, "orders", [("retention.ms", SET, "5")]),
        (BROKER, "7", []),
        (GROUP, "g", [("foo", SET, "1")]),
    )
    assert [row[3] for row in rows] == ["nope", "x", "orders", "7", "g"]
    assert [row[0] for row in rows] == [3, 42, 0, 42, 40]
    assert dict(services.image.configs.topic("orders")) == {"retention.ms": "5"}


def test_a_resource_named_twice_is_refused_twice() -> None:
    services = ConfigServices()
    rows = alter(services, (TOPIC, "orders", [("retention.ms", SET, "5")]), (TOPIC, "orders", []))
    assert rows == [(42, "Each resource must appear at most once.", TOPIC, "orders")] * 2
    assert services.controller.decision_count == 0


def test_validation_alone_changes_nothing() -> None:
    services = ConfigServices()
    before = services.image
    rows = alter(
        services,
        (TOPIC, "orders", [("retention.ms", SET, "5")]),
        (BROKER, "1", [("log.cleaner.threads", SET, "x")]),
        validate_only=True,
    )
    assert [row[0] for row in rows] == [0, 42]
    assert services.image == before


def test_log_levels_are_set_in_this_process_and_not_in_the_metadata() -> None:
    services = ConfigServices()
    logger = logging.getLogger("ottla.test.k44")
    try:
        assert alter(services, (LOGGER, "1", [(logger.name, SET, "ERROR")]), validate_only=True)[0][0] == 0
        assert logger.level == logging.NOTSET
        assert alter(services, (LOGGER, "1", [(logger.name, SET, "ERROR")]))[0][0] == 0
        assert logger.level == logging.ERROR
        assert alter(services, (LOGGER, "1", [(logger.name, DELETE, None)]))[0][0] == 0
        assert logger.level == logging.NOTSET
    finally:
        logger.setLevel(logging.NOTSET)
    assert services.controller.decision_count == 0


def test_one_wrong_level_keeps_all_levels() -> None:
    services = ConfigServices()
    logger = logging.getLogger("ottla.test.k44")
    changes: list[Change] = [(logger.name, SET, "ERROR"), ("root", SET, "LOUD")]
    assert alter(services, (LOGGER, "1", changes))[0][0] == ErrorCode.INVALID_CONFIG
    assert logger.level == logging.NOTSET


def test_a_failure_of_the_whole_request_is_told_to_each_resource() -> None:
    request = IncrementalAlterConfigsRequest(resources=[AlterConfigsResource(resource_type=TOPIC, resource_name="a")])
    error = ApiError(ErrorCode.NOT_CONTROLLER, "elsewhere")
    (row,) = k44.error_response(context(ConfigServices(), 44, 1), request, error).responses
    assert (row.error_code, row.error_message, row.resource_name) == (ErrorCode.NOT_CONTROLLER, "elsewhere", "a")
