"""Brokers come, go and lose records in any order; no clean election loses what was committed.

The model knows who holds every committed record: those in sync when something is committed, which happens only with a
leader and enough replicas in sync. A broker that restarts uncleanly holds nothing for sure. The controller sees none of
this; it must elect only holders, or say that the leader has to recover.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.metadata.controller.alter_partition import alter_partition
from ottla.metadata.controller.brokers import fence_broker, unfence_broker
from ottla.metadata.controller.election_rules import ElectionRules
from ottla.metadata.controller.elections import elect_missing_leaders, elect_preferred_leaders
from ottla.metadata.controller.registration import BrokerRegistration, register_broker
from ottla.metadata.decision import Decision
from ottla.metadata.image import NO_LEADER, ClusterImage, PartitionState, VersionRange
from ottla.metadata.image.partition_index import PartitionIndex
from ottla.protocol.messages.alter_partition_request import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from unit.metadata.clusters import applied, cluster, directory, topic_id, with_topic

BROKERS = (1, 2, 3)
ELR = "eligible.leader.replicas.version"

STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["fence", "unfence", "clean restart", "unclean restart"]), st.sampled_from(BROKERS)),
        st.tuples(st.just("report"), st.sets(st.sampled_from(BROKERS))),
        st.tuples(st.sampled_from(["commit", "balance", "elect"]), st.none()),
    ),
    max_size=40,
)


class Model:
    def __init__(self, *, has_elr: bool, min_isr: int, is_unclean_allowed: bool) -> None:
        self.rules = ElectionRules(min_isr, is_unclean_allowed)
        self.has_elr = has_elr
        self.image = with_topic(cluster(*BROKERS), "t", BROKERS).indexed()
        if has_elr:
            self.image = applied(self.image, [FeatureLevelRecord(name=ELR, feature_level=1)])
        self.holders = set(BROKERS)
        self.lives = 0

    @property
    def state(self) -> PartitionState:
        found = self.image.topics.partition(topic_id(1), 0)
        assert found is not None
        return found

    def step(self, action: str, argument: object) -> None:
        before = self.state
        if action == "commit":
            if before.leader != NO_LEADER and len(before.isr) >= self.rules.min_insync_replicas:
                self.holders = set(before.isr)
            return
        if action == "unclean restart" and isinstance(argument, int):
            # Without KIP-966 nobody knows, and Kafka does not promise anything.
            if not self.has_elr:
                return
            self.holders.discard(argument)
        decision = self._decide(action, argument)
        self.image = applied(self.image, decision)
        after = self.state
        if after.leader not in (before.leader, NO_LEADER):
            if after.leader_recovery_state == 1:
                self.holders = {after.leader}
            assert after.leader in self.holders, f"{after} lacks what {self.holders} have"
        # Whoever is in sync has what the leader has.
        if action == "report" and after.isr != before.isr:
            self.holders |= set(after.isr) - set(before.isr)
        self._check_invariants()

    def _decide(self, action: str, argument: object) -> Decision[object] | Sequence[object]:
        if action == "report":
            assert isinstance(argument, set)
            return self._report(argument)
        if action == "balance":
            return elect_preferred_leaders(self.image, rules=self.rules, limit=10)
        if action == "elect":
            return elect_missing_leaders(self.image, rules=self.rules, limit=10)
        assert isinstance(argument, int)
        broker = self.image.brokers.get(argument)
        assert broker is not None
        if action == "fence":
            return fence_broker(self.image, broker.id, broker.epoch, rules=self.rules)
        if action == "unfence":
            return unfence_broker(self.image, broker.id, broker.epoch, rules=self.rules)
        self.lives += 1
        registration = BrokerRegistration(
            broker.id,
            self.lives.to_bytes(16),
            (),
            {ELR: VersionRange(0, 1)},
            (directory(broker.id),),
            previous_epoch=broker.epoch if action == "clean restart" else -1,
        )
        return register_broker(self.image, registration, rules=self.rules)

    def _report(self, wanted: set[int]) -> Decision[object] | Sequence[object]:
        """The leader reports who is in sync; a leader that recovered says so."""
        state = self.state
        leader = self.image.brokers.get(state.leader)
        if leader is None:
            return []
        isr = [i for i in BROKERS if i == leader.id or (i in wanted and self.image.brokers.is_active(i))]
        rows = [BrokerState(broker_id=i, broker_epoch=-1) for i in isr]
        row = PartitionData(
            partition_index=0,
            leader_epoch=state.leader_epoch,
            partition_epoch=state.partition_epoch,
            new_isr_with_epochs=rows,
        )
        topics = [TopicData(topic_id=topic_id(1), partitions=[row])]
        request = AlterPartitionRequest(broker_id=leader.id, broker_epoch=leader.epoch, topics=topics)
        decision = alter_partition(self.image, request, api_version=3, rules=self.rules)
        assert decision.response.topics[0].partitions[0].error_code == 0
        return decision

    def _check_invariants(self) -> None:
        state = self.state
        assert not set(state.isr) & set(state.eligible_leader_replicas)
        assert set(state.isr) | set(state.eligible_leader_replicas) <= set(state.replicas)
        if state.leader != NO_LEADER:
            assert state.leader in state.isr
            assert self.image.brokers.is_active(state.leader)
        if not self.has_elr:
            assert state.isr
            assert not state.eligible_leader_replicas
        if len(state.isr) >= self.rules.min_insync_replicas:
            assert not state.eligible_leader_replicas
        assert self.image.topics._index == index_of(self.image)


def index_of(image: ClusterImage) -> PartitionIndex:
    """The index as it is when built from nothing."""
    states = [((topic.id, i), None, state) for topic in image.topics for i, state in topic.partitions.items()]
    return PartitionIndex().changed(states)


@pytest.mark.parametrize("is_unclean_allowed", [False, True])
@pytest.mark.parametrize("min_isr", [1, 2, 3])
@pytest.mark.parametrize("has_elr", [False, True])
@settings(max_examples=150)
@given(steps=STEPS)
def test_no_clean_election_loses_what_was_committed(
    has_elr: bool, min_isr: int, is_unclean_allowed: bool, steps: list[tuple[str, object]]
) -> None:
    model = Model(has_elr=has_elr, min_isr=min_isr, is_unclean_allowed=is_unclean_allowed)
    for action, argument in steps:
        model.step(action, argument)
