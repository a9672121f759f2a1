"""UpdateFeatures request by request: where an error stands, in each version."""

import asyncio
from typing import Any

import pytest

from harness.servers import Server
from harness.wire import WireClient
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest

FEATURE = "transaction.version"
LEVEL = 2
UPGRADE = 1

by_version = pytest.mark.parametrize("version", [0, 1, 2])


def ask(server: Server, version: int, *updates: FeatureUpdateKey) -> Any:
    async def call() -> Any:
        client = await WireClient.connect(server.port)
        try:
            request = UpdateFeaturesRequest(timeout_ms=10_000, feature_updates=list(updates), validate_only=version > 0)
            return await client.call(request, version)
        finally:
            await client.close()

    return asyncio.run(call())


def update(feature: str, level: int, upgrade_type: int = UPGRADE) -> FeatureUpdateKey:
    return FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=upgrade_type)


@by_version
@pytest.mark.parametrize(
    "updates",
    [
        (update("nonsense", 1),),
        (update(FEATURE, 99),),
        (update(FEATURE, -1),),
        (update(FEATURE, 0),),
        (update(FEATURE, LEVEL), update("nonsense", 1)),
        (update("nonsense", 1), update("other", 1)),
        (update(FEATURE, LEVEL), update(FEATURE, 1)),
    ],
    ids=["unknown", "too high", "negative", "downgrade", "one of two", "two of two", "twice"],
)
def test_an_update_that_fails_is_an_error_of_the_whole_request(
    server: Server, version: int, updates: tuple[FeatureUpdateKey, ...]
) -> None:
    answer = ask(server, version, *updates)
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "Invalid update version" in answer.error_message
    assert not answer.results


@by_version
def test_an_update_that_succeeds_has_a_row_before_version_2(server: Server, version: int) -> None:
    # What it is already, so that nothing changes in version 0 either.
    answer = ask(server, version, update(FEATURE, LEVEL))
    assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, None)
    rows = [(row.feature, row.error_code, row.error_message) for row in answer.results]
    assert rows == ([] if version == 2 else [(FEATURE, ErrorCode.NONE, "NONE")])


@by_version
def test_no_update_is_no_error(server: Server, version: int) -> None:
    answer = ask(server, version)
    assert (answer.error_code, answer.error_message, list(answer.results)) == (ErrorCode.NONE, None, [])
