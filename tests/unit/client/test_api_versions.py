"""The version in which client and broker speak."""

import pytest

from ottla.client.api_versions import BrokerVersions, FeatureLevel, fallback_version, versions_from
from ottla.client.errors import UnsupportedByBroker
from ottla.protocol.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.metadata_request import MetadataRequest


def test_the_highest_common_version_is_taken() -> None:
    assert BrokerVersions({3: (0, 9)}).choose(MetadataRequest, "b") == 9
    assert BrokerVersions({3: (0, 99)}).choose(MetadataRequest, "b") == 13


def test_a_caller_may_bound_the_version() -> None:
    versions = BrokerVersions({3: (0, 99)})
    assert versions.choose(MetadataRequest, "b", highest=7) == 7
    with pytest.raises(UnsupportedByBroker, match="are needed"):
        BrokerVersions({3: (0, 3)}).choose(MetadataRequest, "b", lowest=4)


def test_an_unstable_version_is_never_taken() -> None:
    assert BrokerVersions({22: (0, 6)}).choose(InitProducerIdRequest, "b") == 5


def test_an_api_that_is_not_served_is_named_with_the_broker() -> None:
    versions = BrokerVersions({})
    assert not versions.serves(MetadataRequest)
    with pytest.raises(UnsupportedByBroker, match=r"10.0.0.1:9092 does not serve Metadata \(API key 3\)"):
        versions.choose(MetadataRequest, "10.0.0.1:9092")


def test_a_listener_of_controllers_is_called_so() -> None:
    with pytest.raises(UnsupportedByBroker, match=r"b is a listener of controllers.*name a broker"):
        BrokerVersions({52: (0, 2), 55: (0, 2)}).choose(MetadataRequest, "b")


def test_whoever_is_too_old_is_named() -> None:
    with pytest.raises(UnsupportedByBroker, match="take a newer client"):
        BrokerVersions({3: (50, 60)}).choose(MetadataRequest, "b")


def test_features_have_what_is_supported_and_what_is_in_force() -> None:
    response = ApiVersionsResponse(
        supported_features=[SupportedFeatureKey(name="group.version", min_version=0, max_version=1)],
        finalized_features=[FinalizedFeatureKey(name="group.version", max_version_level=1, min_version_level=1)],
        finalized_features_epoch=4,
    )
    versions = versions_from(response)
    assert versions.features == (FeatureLevel("group.version", 0, 1, 1),)
    assert versions.finalized_features_epoch == 4


def test_after_a_refusal_the_brokers_own_version_is_asked_in() -> None:
    assert fallback_version(ApiVersionsResponse(error_code=35)) == 0
    refusal = ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(api_key=18, min_version=0, max_version=3)])
    assert fallback_version(refusal) == 3
