from collections.abc import Mapping

import pytest

from ottla.metadata.controller.configs import AlterOperation, alter_configs, incremental_alter_configs
from ottla.metadata.image import ClusterImage, ResourceType
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages import alter_configs_request as legacy
from ottla.protocol.messages import incremental_alter_configs_request as incremental
from unit.metadata.clusters import applied, cluster, with_config, with_topic


class Schema:
    """Lists are called list.*; the default of list.defaulted is "d"; nothing may be worth "bad"."""

    def is_list(self, resource_type: int, name: str) -> bool:
        return name.startswith("list")

    def default(self, resource_type: int, name: str) -> str | None:
        return "d" if name == "list.defaulted" else None

    def check(self, resource_type: int, resource_name: str, configs: Mapping[str, str]) -> None:
        if "bad" in configs.values():
            raise ApiError(ErrorCode.INVALID_CONFIG, "a bad value")


IMAGE = with_config(with_topic(cluster(1), "t", (1,)), ResourceType.TOPIC, "t", "old", "1")


def edits(*changes: tuple[str, int, str | None], resource: tuple[int, str] = (ResourceType.TOPIC, "t")):
    return incremental.AlterConfigsResource(
        resource_type=resource[0],
        resource_name=resource[1],
        configs=[
            incremental.AlterableConfig(name=name, config_operation=operation, value=value)
            for name, operation, value in changes
        ],
    )


def edit(image: ClusterImage, *changes: tuple[str, int, str | None]) -> dict[str, str]:
    decision = incremental_alter_configs(image, [edits(*changes)], schema=Schema())
    assert decision.response[0].error is ErrorCode.NONE, decision.response
    return dict(applied(image, decision).configs.topic("t"))


SET, DELETE, APPEND, SUBTRACT = AlterOperation


def test_values_are_set_and_deleted_and_the_rest_stays() -> None:
    assert edit(IMAGE, ("new", SET, "2")) == {"old": "1", "new": "2"}
    assert edit(IMAGE, ("old", DELETE, None)) == {}
    assert edit(IMAGE, ("unknown", DELETE, None)) == {"old": "1"}


def test_lists_grow_and_shrink_without_repetition() -> None:
    image = with_config(IMAGE, ResourceType.TOPIC, "t", "list", "a,b")
    assert edit(image, ("list", APPEND, "b,c"))["list"] == "a,b,c"
    assert edit(image, ("list", SUBTRACT, "a,x"))["list"] == "b"
    assert edit(image, ("list", SUBTRACT, "a,b"))["list"] == ""


def test_a_list_that_is_not_set_grows_from_its_default() -> None:
    assert edit(IMAGE, ("list.defaulted", APPEND, "e"))["list.defaulted"] == "d,e"
    assert edit(IMAGE, ("list.plain", APPEND, "e"))["list.plain"] == "e"


def test_an_unchanged_value_writes_nothing() -> None:
    assert not incremental_alter_configs(IMAGE, [edits(("old", SET, "1"))], schema=Schema()).records


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (("x", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (("x", SUBTRACT, "1"), ErrorCode.INVALID_CONFIG),
        (("x", SET, None), ErrorCode.INVALID_REQUEST),
        (("list", APPEND, None), ErrorCode.INVALID_REQUEST),
        (("x", 9, "1"), ErrorCode.INVALID_REQUEST),
        (("", SET, "1"), ErrorCode.INVALID_REQUEST),
        (("x", SET, "bad"), ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_mistake_fails_its_resource_whole(change: tuple[str, int, str | None], error: ErrorCode) -> None:
    decision = incremental_alter_configs(IMAGE, [edits(("good", SET, "1"), change)], schema=Schema())
    assert decision.response[0].error is error
    assert decision.response[0].message
    assert not decision.records


def test_resources_succeed_and_fail_alone() -> None:
    rows = [edits(("x", SET, "bad")), edits(("x", SET, "1"), resource=(ResourceType.BROKER, "1"))]
    decision = incremental_alter_configs(IMAGE, rows, schema=Schema())
    assert [result.error for result in decision.response] == [ErrorCode.INVALID_CONFIG, ErrorCode.NONE]
    assert dict(applied(IMAGE, decision).configs.broker(1)) == {"x": "1"}


@pytest.mark.parametrize(
    ("resource", "error"),
    [
        ((ResourceType.TOPIC, "none"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ((ResourceType.BROKER, "7"), ErrorCode.BROKER_ID_NOT_REGISTERED),
        ((ResourceType.BROKER, "one"), ErrorCode.INVALID_REQUEST),
        ((ResourceType.BROKER, ""), ErrorCode.NONE),
        ((ResourceType.GROUP, "g"), ErrorCode.NONE),
        ((ResourceType.GROUP, ""), ErrorCode.INVALID_REQUEST),
        ((ResourceType.CLIENT_METRICS, "m"), ErrorCode.NONE),
        ((ResourceType.BROKER_LOGGER, "1"), ErrorCode.INVALID_REQUEST),
        ((99, "x"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_only_existing_resources_have_configs(resource: tuple[int, str], error: ErrorCode) -> None:
    decision = incremental_alter_configs(IMAGE, [edits(("x", SET, "1"), resource=resource)], schema=Schema())
    assert decision.response[0].error is error


def test_repetition_is_a_mistake() -> None:
    twice = incremental_alter_configs(IMAGE, [edits(("x", SET, "1")), edits(("y", SET, "1"))], schema=Schema())
    assert {result.error for result in twice.response} == {ErrorCode.INVALID_REQUEST}
    names = incremental_alter_configs(IMAGE, [edits(("x", SET, "1"), ("x", SET, "2"))], schema=Schema())
    assert names.response[0].error is ErrorCode.INVALID_REQUEST


def test_validation_alone_writes_nothing() -> None:
    decision = incremental_alter_configs(IMAGE, [edits(("x", SET, "1"))], schema=Schema(), validate_only=True)
    assert decision.response[0].error is ErrorCode.NONE
    assert not decision.records


class TestLegacy:
    def alter(self, *configs: tuple[str, str | None]):
        row = legacy.AlterConfigsResource(
            resource_type=ResourceType.TOPIC,
            resource_name="t",
            configs=[legacy.AlterableConfig(name=name, value=value) for name, value in configs],
        )
        return alter_configs(IMAGE, [row], schema=Schema())

    def test_what_is_not_named_returns_to_its_default(self) -> None:
        assert dict(applied(IMAGE, self.alter(("new", "2"))).configs.topic("t")) == {"new": "2"}
        assert dict(applied(IMAGE, self.alter()).configs.topic("t")) == {}

    def test_null_is_no_value(self) -> None:
        assert self.alter(("new", None)).response[0].error is ErrorCode.INVALID_REQUEST
