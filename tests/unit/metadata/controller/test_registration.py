from dataclasses import replace

import pytest

from ottla.metadata.controller.brokers import unfence_broker
from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.controller.registration import BrokerRegistration, register_broker
from ottla.metadata.image import NO_LEADER, ClusterImage, Endpoint, PartitionState, VersionRange
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from ottla.protocol.messages.register_broker_record import RegisterBrokerRecord
from unit.metadata.clusters import applied, cluster, directory, topic_id, with_topic

RULES = ElectionRules()
REGISTRATION = BrokerRegistration(
    broker_id=1,
    incarnation_id=b"incarnation id 1",
    endpoints=(Endpoint("PLAINTEXT", "host", 9092),),
    features={"metadata.version": VersionRange(7, 30)},
    log_dirs=(directory(1),),
    rack="r",
)


def state(image: ClusterImage, partition: int = 0) -> PartitionState:
    found = image.topics.partition(topic_id(1), partition)
    assert found is not None
    return found


def refusal(image: ClusterImage, **changed: object) -> ApiError:
    with pytest.raises(ApiError) as raised:
        register_broker(image, replace(REGISTRATION, **changed), rules=RULES)  # type: ignore[arg-type]
    return raised.value


def test_a_new_broker_starts_fenced_with_the_offset_as_its_epoch() -> None:
    image = ClusterImage(end_offset=42)
    decision = register_broker(image, REGISTRATION, rules=RULES)
    assert decision.response == 42
    broker = applied(image, decision).brokers.get(1)
    assert broker is not None
    assert (broker.epoch, broker.is_fenced, broker.rack, broker.log_dirs) == (42, True, "r", (directory(1),))
    assert broker.endpoint("PLAINTEXT") == Endpoint("PLAINTEXT", "host", 9092)


def test_the_clean_up_after_the_former_life_comes_before_the_registration() -> None:
    image = with_topic(cluster(1), "t", (1,))
    decision = register_broker(image, REGISTRATION, rules=RULES)
    first, last = decision.records
    assert isinstance(first, PartitionChangeRecord)
    assert isinstance(last, RegisterBrokerRecord)
    assert last.broker_epoch == decision.response == image.end_offset


def test_a_restarted_broker_leads_again_in_a_new_epoch_once_unfenced() -> None:
    image = with_topic(cluster(1), "t", (1,), (1,))
    restarted = applied(image, register_broker(image, REGISTRATION, rules=RULES))
    assert state(restarted).leader == NO_LEADER
    back = state(applied(restarted, unfence_broker(restarted, 1, image.end_offset, rules=RULES)), 1)
    assert (back.leader, back.isr, back.leader_epoch) == (1, (1,), 2)


class TestTheSameLife:
    IMAGE = applied(
        ClusterImage(end_offset=42), register_broker(ClusterImage(end_offset=42), REGISTRATION, rules=RULES)
    )

    def test_asking_again_changes_nothing(self) -> None:
        decision = register_broker(self.IMAGE, REGISTRATION, rules=RULES, has_live_session=True)
        assert (decision.records, decision.response) == ([], 42)

    def test_it_may_change_its_listeners_and_keeps_its_epoch_and_state(self) -> None:
        unfenced = applied(self.IMAGE, [BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=42, fenced=-1)])
        unfenced = with_topic(unfenced, "t", (1,))
        moved = replace(REGISTRATION, endpoints=(Endpoint("PLAINTEXT", "elsewhere", 9092),))
        decision = register_broker(unfenced, moved, rules=RULES, has_live_session=True)
        after = applied(unfenced, decision)
        broker = after.brokers.get(1)
        assert broker is not None
        assert (decision.response, broker.epoch, broker.is_fenced) == (42, 42, False)
        assert [x.host for x in broker.endpoints] == ["elsewhere"]
        assert state(after).leader == 1


class TestAnotherLife:
    def test_an_id_in_use_is_refused(self) -> None:
        with pytest.raises(ApiError, match="id 1") as raised:
            register_broker(cluster(1), REGISTRATION, rules=RULES, has_live_session=True)
        assert raised.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION

    def test_in_the_controllers_process_it_is_certainly_over(self) -> None:
        assert register_broker(cluster(1), REGISTRATION, rules=RULES, has_live_session=True, is_local=True).records

    def test_one_that_is_shutting_down_makes_room(self) -> None:
        leaving = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1001, in_controlled_shutdown=1)
        image = applied(cluster(1), [leaving])
        assert register_broker(image, REGISTRATION, rules=RULES, has_live_session=True).records


class TestCleanAndUncleanRestarts:
    """Two replicas, both of which must be in sync; broker 2 is alone, broker 1 eligible."""

    RULES = ElectionRules(min_insync_replicas=2)
    IMAGE = applied(
        with_topic(cluster(1, 2), "t", (1, 2)),
        [
            FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1),
            PartitionChangeRecord(
                topic_id=topic_id(1), partition_id=0, isr=(2,), leader=2, eligible_leader_replicas=[1]
            ),
        ],
    )

    def eligible_after(self, previous_epoch: int | None) -> tuple[int, ...]:
        features = {"eligible.leader.replicas.version": VersionRange(0, 1)}
        registration = replace(REGISTRATION, previous_epoch=previous_epoch, features=features)
        after = applied(self.IMAGE, register_broker(self.IMAGE, registration, rules=self.RULES))
        return state(after).eligible_leader_replicas

    def test_a_clean_restart_stays_eligible(self) -> None:
        assert self.eligible_after(1001) == (1,)

    def test_a_broker_too_old_to_say_counts_as_clean(self) -> None:
        assert self.eligible_after(None) == (1,)

    @pytest.mark.parametrize("previous_epoch", [-1, 77])
    def test_an_unclean_restart_does_not(self, previous_epoch: int) -> None:
        assert self.eligible_after(previous_epoch) == ()


class TestFeatures:
    IMAGE = applied(
        cluster(2),
        [
            FeatureLevelRecord(name="metadata.version", feature_level=25),
            FeatureLevelRecord(name="transaction.version", feature_level=2),
        ],
    )

    def test_every_finalised_level_must_be_supported(self) -> None:
        features = {"metadata.version": VersionRange(7, 30), "transaction.version": VersionRange(0, 2)}
        assert register_broker(self.IMAGE, replace(REGISTRATION, features=features), rules=RULES).records
        too_old = features | {"metadata.version": VersionRange(7, 24)}
        error = refusal(self.IMAGE, features=too_old)
        assert error.code is ErrorCode.UNSUPPORTED_VERSION
        assert "metadata.version is finalised at 25" in error.message

    def test_a_feature_that_the_broker_does_not_name_counts_as_level_0(self) -> None:
        error = refusal(self.IMAGE)
        assert (error.code, "transaction.version" in error.message) == (ErrorCode.UNSUPPORTED_VERSION, True)

    def test_a_broker_in_the_controllers_process_is_of_its_release(self) -> None:
        assert register_broker(self.IMAGE, REGISTRATION, rules=RULES, is_local=True).records

    def test_the_version_of_the_quorum_counts_too(self) -> None:
        with pytest.raises(ApiError, match=r"kraft\.version"):
            register_broker(cluster(2), REGISTRATION, rules=RULES, kraft_version=1)


@pytest.mark.parametrize(
    ("log_dirs", "reason"),
    [
        ((), "No directories"),
        ((bytes(15) + b"\x01",), "Reserved"),
        ((directory(1), directory(1)), "Duplicate"),
        ((directory(2),), "Broker 2 is already registered with directory"),
    ],
)
def test_directories_must_be_the_brokers_own(log_dirs: tuple[bytes, ...], reason: str) -> None:
    error = refusal(cluster(1, 2), log_dirs=log_dirs)
    assert error.code is ErrorCode.INVALID_REGISTRATION
    assert reason in error.message
