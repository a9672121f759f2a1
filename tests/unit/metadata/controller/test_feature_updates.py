import pytest
from immutables import Map

from ottla.metadata.controller.feature_updates import FeatureUpdate, UpgradeType, update_features
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, ResourceType
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.messages.register_broker_record import BrokerFeature, RegisterBrokerRecord
from ottla.protocol.messages.register_controller_record import ControllerFeature, RegisterControllerRecord
from unit.metadata.clusters import applied, with_config

IMAGE = ClusterImage(features=Map({"metadata.version": 30}))
UP, DOWN = UpgradeType.UPGRADE, UpgradeType.SAFE_DOWNGRADE


def update(*updates: FeatureUpdate, image: ClusterImage = IMAGE, validate_only: bool = False) -> Decision[None]:
    return update_features(image, updates, kraft_version=1, min_insync_replicas=2, validate_only=validate_only)


def test_a_level_goes_up_as_far_as_it_is_supported() -> None:
    decision = update_features(
        IMAGE,
        [FeatureUpdate("transaction.version", 2, UP)],
        kraft_version=1,
        min_insync_replicas=1,
        validate_only=False,
    )
    assert decision.records == [FeatureLevelRecord(name="transaction.version", feature_level=2)]


def test_nothing_is_written_for_what_holds_already_or_is_only_validated() -> None:
    same = [FeatureUpdate("metadata.version", 30, UP), FeatureUpdate("kraft.version", 1, UP)]
    assert update(*same).records == []
    up = [FeatureUpdate("transaction.version", 1, UP)]
    assert update(*up, validate_only=True).records == []


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (FeatureUpdate("transaction.version", 3, UP), "supports 0 to 2"),
        (FeatureUpdate("transaction.version", -1, DOWN), "supports 0 to 2"),
        (FeatureUpdate("nothing.version", 1, UP), "no such feature"),
        (FeatureUpdate("metadata.version", 29, UP), "request a safe or an unsafe downgrade"),
        (FeatureUpdate("metadata.version", 29, UpgradeType.UNSAFE_DOWNGRADE), "cannot go down"),
        (FeatureUpdate("kraft.version", 0, DOWN), "cannot go down"),
        (FeatureUpdate("transaction.version", 1, DOWN), "newer version"),
        (FeatureUpdate("transaction.version", 1, 7), "not an upgrade type"),
    ],
)
def test_what_cannot_be_is_refused_and_named(asked: FeatureUpdate, reason: str) -> None:
    others = [FeatureUpdate("transaction.version", 2, UP)] if asked.feature != "transaction.version" else []
    with pytest.raises(ApiError, match=reason) as refused:
        update(*others, asked)
    assert refused.value.code is ErrorCode.INVALID_UPDATE_VERSION
    assert asked.feature in str(refused.value)


class TestOtherNodes:
    """A level that one of them does not know would make it stop."""

    @staticmethod
    def with_broker(*features: BrokerFeature) -> ClusterImage:
        record = RegisterBrokerRecord(broker_id=4, log_dirs=[b"d" * 16], features=features)
        return applied(IMAGE, [record])

    def test_every_broker_must_support_the_level(self) -> None:
        asked = FeatureUpdate("transaction.version", 2, UP)
        able = BrokerFeature(name="transaction.version", min_supported_version=0, max_supported_version=2)
        assert update(asked, image=self.with_broker(able)).records
        older = BrokerFeature(name="transaction.version", min_supported_version=0, max_supported_version=1)
        with pytest.raises(ApiError, match="Broker 4 only supports versions 0-1"):
            update(asked, image=self.with_broker(older))
        with pytest.raises(ApiError, match="Broker 4 does not support this feature"):
            update(asked, image=self.with_broker())

    def test_every_controller_too(self) -> None:
        older = ControllerFeature(name="transaction.version", min_supported_version=0, max_supported_version=1)
        image = applied(IMAGE, [RegisterControllerRecord(controller_id=5, features=[older])])
        assert update(FeatureUpdate("transaction.version", 1, UP), image=image).records
        with pytest.raises(ApiError, match="Controller 5 only supports versions 0-1"):
            update(FeatureUpdate("transaction.version", 2, UP), image=image)


class TestEligibleLeaderReplicas:
    ASKED = FeatureUpdate("eligible.leader.replicas.version", 1, UP)

    def test_switching_them_on_gives_the_cluster_one_minimum(self) -> None:
        image = with_config(IMAGE, ResourceType.BROKER, "3", "min.insync.replicas", "1")
        after = applied(image, update(self.ASKED, image=image))
        assert dict(after.configs.cluster_default()) == {"min.insync.replicas": "2"}
        assert dict(after.configs.broker(3)) == {}

    def test_a_minimum_that_the_cluster_has_stays(self) -> None:
        image = with_config(IMAGE, ResourceType.BROKER, "", "min.insync.replicas", "3")
        after = applied(image, update(self.ASKED, image=image))
        assert dict(after.configs.cluster_default()) == {"min.insync.replicas": "3"}

    def test_the_records_of_an_older_cluster_have_no_room_for_them(self) -> None:
        older = ClusterImage(features=Map({"metadata.version": 22}))
        with pytest.raises(ApiError, match=r"needs metadata\.version 23"):
            update(self.ASKED, image=older)
        both = [FeatureUpdate("metadata.version", 30, UP), self.ASKED]
        assert update(*both, image=older).records
