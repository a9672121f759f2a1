import asyncio

import pytest

from harness.config_services import ConfigServices, context
from ottla.broker.handlers import k33_alter_configs as k33
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.alter_configs_request import AlterableConfig, AlterConfigsRequest, AlterConfigsResource

TOPIC, BROKER, LOGGER = 2, 4, 8
Resource = tuple[int, str, list[tuple[str, str | None]]]


def alter(
    services: ConfigServices, *resources: Resource, validate_only: bool = False
) -> list[tuple[int, str | None, int, str]]:
    request = AlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=resource_type,
                resource_name=name,
                configs=[AlterableConfig(name=key, value=value) for key, value in configs],
            )
            for resource_type, name, configs in resources
        ],
        validate_only=validate_only,
    )
    response = asyncio.run(k33.handle(context(services, k33.API_KEY, 2), request))
    return [(row.error_code, row.error_message, row.resource_type, row.resource_name) for row in response.responses]


def test_what_is_not_named_goes() -> None:
    services = ConfigServices()
    alter(services, (TOPIC, "orders", [("retention.ms", "5"), ("segment.ms", "6")]))
    assert alter(services, (TOPIC, "orders", [("flush.ms", "7")])) == [(0, None, TOPIC, "orders")]
    assert dict(services.image.configs.topic("orders")) == {"flush.ms": "7"}
    alter(services, (TOPIC, "orders", []))
    assert dict(services.image.configs.topic("orders")) == {}


def test_validation_alone_changes_nothing() -> None:
    services = ConfigServices()
    before = services.image
    assert alter(services, (BROKER, "1", [("log.cleaner.threads", "2")]), validate_only=True)[0][0] == 0
    assert services.image == before


@pytest.mark.parametrize(
    ("resource", "code"),
    [
        ((TOPIC, "orders", [("foo", "1")]), ErrorCode.INVALID_CONFIG),
        ((TOPIC, "orders", [("retention.ms", None)]), ErrorCode.INVALID_REQUEST),
        ((TOPIC, "orders", [("retention.ms", "1"), ("retention.ms", "2")]), ErrorCode.INVALID_REQUEST),
        ((TOPIC, "", []), ErrorCode.INVALID_REQUEST),
        ((TOPIC, "nope", []), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ((BROKER, "1", [("num.partitions", "1")]), ErrorCode.INVALID_REQUEST),
        ((BROKER, "9", []), ErrorCode.INVALID_REQUEST),
        ((LOGGER, "1", [("root", "INFO")]), ErrorCode.INVALID_REQUEST),
        ((77, "1", []), ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_wrong_resource_is_refused_alone(resource: Resource, code: ErrorCode) -> None:
    services = ConfigServices()
    refused, done = alter(services, resource, (BROKER, "", [("log.cleaner.threads", "2")]))
    assert refused[0] == code
    assert refused[1]
    assert done == (0, None, BROKER, "")
    assert dict(services.image.configs.topic("orders")) == {}


def test_a_failure_of_the_whole_request_is_told_to_each_resource() -> None:
    request = AlterConfigsRequest(resources=[AlterConfigsResource(resource_type=TOPIC, resource_name="a")])
    error = ApiError(ErrorCode.NOT_CONTROLLER, "elsewhere")
    (row,) = k33.error_response(context(ConfigServices(), 33, 2), request, error).responses
    assert (row.error_code, row.error_message, row.resource_name) == (ErrorCode.NOT_CONTROLLER, "elsewhere", "a")
