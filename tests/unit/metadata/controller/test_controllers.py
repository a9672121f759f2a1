import pytest

from ottla.metadata.controller.controllers import features_of, register_controller, registered_controllers
from ottla.metadata.image import ClusterImage, VersionRange
from ottla.protocol.errors import ApiError
from ottla.protocol.messages.controller_registration_request import ControllerRegistrationRequest, Feature, Listener
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from unit.metadata.clusters import applied, cluster

IMAGE = applied(cluster(1), [FeatureLevelRecord(name="metadata.version", feature_level=30)])


def request(life: int = 1, **fields: bool) -> ControllerRegistrationRequest:
    return ControllerRegistrationRequest(
        controller_id=7,
        incarnation_id=life.to_bytes(16),
        listeners=[Listener(name="CONTROLLER", host="here", port=9093)],
        features=[Feature(name="metadata.version", min_supported_version=7, max_supported_version=30)],
        **fields,
    )


def test_a_controller_says_where_it_listens_and_what_it_knows() -> None:
    after = applied(IMAGE, register_controller(IMAGE, request()))
    (found,) = registered_controllers(after)
    assert (found.controller_id, [x.port for x in found.end_points]) == (7, [9093])
    assert features_of(found) == {"metadata.version": VersionRange(7, 30)}


def test_the_next_life_replaces_the_registration() -> None:
    first = applied(IMAGE, register_controller(IMAGE, request(life=1)))
    second = applied(first, register_controller(first, request(life=2)))
    assert [found.incarnation_id for found in registered_controllers(second)] == [(2).to_bytes(16)]


def test_a_cluster_of_an_older_level_has_no_such_records() -> None:
    with pytest.raises(ApiError, match="UNSUPPORTED_VERSION"):
        register_controller(ClusterImage(), request())


def test_nobody_migrates_from_zookeeper() -> None:
    with pytest.raises(ApiError, match="INVALID_REQUEST"):
        register_controller(IMAGE, request(zk_migration_ready=True))
