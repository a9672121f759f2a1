import pytest

from harness.config_services import ConfigServices, context
from ottla.broker.handlers import k74_list_config_resources as k74
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.config_record import ConfigRecord
from ottla.protocol.messages.list_config_resources_request import ListConfigResourcesRequest

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


def names(types: list[int], version: int = 1) -> list[tuple[int, str]]:
    services = ConfigServices()
    services.apply(
        ConfigRecord(resource_type=GROUP, resource_name="g", name="consumer.session.timeout.ms", value="50000"),
        ConfigRecord(resource_type=CLIENT_METRICS, resource_name="s", name="interval.ms", value="500"),
    )
    request = ListConfigResourcesRequest(resource_types=types)
    response = k74.handle(context(services, k74.API_KEY, version), request)
    return [(row.resource_type, row.resource_name) for row in response.config_resources]


def test_the_first_version_lists_subscriptions_alone() -> None:
    assert names([], version=0) == [(CLIENT_METRICS, "s")]


def test_no_type_asks_for_all() -> None:
    assert names([]) == [(TOPIC, "orders"), (BROKER, "1"), (LOGGER, "1"), (CLIENT_METRICS, "s"), (GROUP, "g")]


@pytest.mark.parametrize(
    ("types", "expected"),
    [([TOPIC], [(TOPIC, "orders")]), ([GROUP, GROUP], [(GROUP, "g")]), ([BROKER], [(BROKER, "1")])],
)
def test_types_narrow_the_answer(types: list[int], expected: list[tuple[int, str]]) -> None:
    assert names(types) == expected


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ApiError) as caught:
        names([77])
    assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION
    response = k74.error_response(context(ConfigServices(), 74, 1), ListConfigResourcesRequest(), caught.value)
    assert (response.error_code, list(response.config_resources)) == (ErrorCode.UNSUPPORTED_VERSION, [])
