from collections.abc import Sequence

import pytest

from harness.config_services import ConfigServices, context
from ottla.broker.handlers import k32_describe_configs as k32
from ottla.protocol.codec import decode, encode
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.config_record import ConfigRecord
from ottla.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from ottla.protocol.messages.describe_configs_response import DescribeConfigsResponse, DescribeConfigsResult

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


def describe(
    services: ConfigServices,
    resource_type: int,
    name: str,
    keys: Sequence[str] | None = None,
    *,
    version: int = 4,
    synonyms: bool = False,
    documentation: bool = False,
) -> DescribeConfigsResult:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=resource_type, resource_name=name, configuration_keys=keys),
        ],
        include_synonyms=synonyms,
        include_documentation=documentation,
    )
    response = k32.handle(context(services, k32.API_KEY, version), request)
    (result,) = decode(DescribeConfigsResponse, encode(response, version), version).results
    return result


@pytest.mark.parametrize("version", k32.REQUEST.VERSIONS)
def test_every_version_carries_a_whole_topic(version: int) -> None:
    result = describe(ConfigServices(), TOPIC, "orders", version=version)
    assert result.error_code == 0
    assert len(result.configs) == 33


def test_keys_narrow_the_answer_and_unknown_ones_are_left_out() -> None:
    services = ConfigServices()
    assert [row.name for row in describe(services, TOPIC, "orders", ["retention.ms", "foo"]).configs] == [
        "retention.ms"
    ]
    assert len(describe(services, TOPIC, "orders", []).configs) == 33


def test_values_come_with_source_synonyms_type_and_meaning_on_request() -> None:
    services = ConfigServices(message_max_bytes="7")
    services.apply(ConfigRecord(resource_type=TOPIC, resource_name="orders", name="max.message.bytes", value="9"))
    (bare,) = describe(services, TOPIC, "orders", ["max.message.bytes"]).configs
    assert (bare.value, bare.config_source, bare.config_type, bare.read_only) == ("9", 1, 3, False)
    assert list(bare.synonyms) == []
    assert bare.documentation is None
    (full,) = describe(services, TOPIC, "orders", ["max.message.bytes"], synonyms=True, documentation=True).configs
    assert [(synonym.value, synonym.source) for synonym in full.synonyms] == [("9", 1), ("7", 4), ("1048588", 5)]
    assert full.documentation


@pytest.mark.parametrize(
    ("resource_type", "name", "row_count"),
    [(BROKER, "1", 341), (BROKER, "", 0), (GROUP, "g", 17), (CLIENT_METRICS, "s", 3)],
)
def test_every_kind_of_resource_is_described(resource_type: int, name: str, row_count: int) -> None:
    result = describe(ConfigServices(), resource_type, name)
    assert (result.error_code, len(result.configs)) == (0, row_count)


def test_loggers_are_described_by_their_broker() -> None:
    (root,) = describe(ConfigServices(), LOGGER, "1", ["root"]).configs
    assert root.config_source == 6
    assert root.value in ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")


@pytest.mark.parametrize(
    ("resource_type", "name", "code", "message"),
    [
        (TOPIC, "nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "nope"),
        (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION, "a b"),
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION, "empty"),
        (BROKER, "7", ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 1 or empty string, but received 7"),
        (BROKER, "x", ErrorCode.INVALID_REQUEST, "Broker id must be an integer, but it is: x"),
        (LOGGER, "2", ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 1 but received 2"),
        (LOGGER, "", ErrorCode.INVALID_REQUEST, "Broker id must not be empty"),
        (GROUP, "", ErrorCode.INVALID_REQUEST, "Group name must not be empty"),
        (CLIENT_METRICS, "", ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty"),
        (77, "x", ErrorCode.INVALID_REQUEST, "77"),
    ],
)
def test_a_wrong_resource_is_answered_with_its_error(
    resource_type: int, name: str, code: ErrorCode, message: str
) -> None:
    result = describe(ConfigServices(), resource_type, name)
    assert result.error_code == code
    assert message in (result.error_message or "")
    assert (result.resource_type, result.resource_name, list(result.configs)) == (resource_type, name, [])


def test_a_failure_of_the_whole_request_is_told_to_each_resource() -> None:
    request = DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=TOPIC, resource_name="a")])
    error = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "broken")
    (result,) = k32.error_response(context(ConfigServices(), 32, 4), request, error).results
    assert (result.error_code, result.error_message, result.resource_name) == (-1, "broken", "a")
