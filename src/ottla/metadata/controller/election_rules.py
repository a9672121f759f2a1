"""The settings that bind the leaders of partitions, and whom they make acceptable.

A topic's own value comes first, then the value in force for the cluster, which is that of the controller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ottla.metadata.controller.features import ELR_VERSION
from ottla.metadata.controller.partition_change import Circumstances, Election
from ottla.metadata.image import NO_LEADER, BrokersImage, ClusterImage, PartitionState
from ottla.metadata.image.topics import UNASSIGNED_DIRECTORY

MIN_INSYNC_REPLICAS = "min.insync.replicas"
UNCLEAN_LEADER_ELECTION = "unclean.leader.election.enable"


@dataclass(frozen=True, slots=True)
class ElectionRules:
    """What holds for topics that set no value of their own."""

    min_insync_replicas: int = 1
    is_unclean_allowed: bool = False

    def min_isr(self, image: ClusterImage, topic_name: str) -> int:
        value = image.configs.topic(topic_name).get(MIN_INSYNC_REPLICAS)
        return self.min_insync_replicas if value is None else int(value)

    def allows_unclean(self, image: ClusterImage, topic_name: str) -> bool:
        value = image.configs.topic(topic_name).get(UNCLEAN_LEADER_ELECTION)
        return self.is_unclean_allowed if value is None else value.lower() == "true"

    def terms(self, image: ClusterImage, topic_name: str) -> TopicTerms:
        """What holds for all partitions of a topic."""
        return TopicTerms(
            image.brokers,
            self.min_isr(image, topic_name),
            has_elr(image),
            Election.UNCLEAN if self.allows_unclean(image, topic_name) else Election.ONLINE,
        )


class TopicTerms(NamedTuple):
    """What binds the leaders of one topic; where many partitions change at once, it is looked up once."""

    brokers: BrokersImage
    min_isr: int
    has_elr: bool
    election: Election

    def circumstances(
        self,
        state: PartitionState,
        *,
        election: Election | None = None,
        leaving: int = NO_LEADER,
        returning: int = NO_LEADER,
    ) -> Circumstances:
        """`leaving` is a broker that counts as gone, `returning` one that counts as active, whatever the image says.
        Without a given kind of election, the topic decides whether an unclean one is allowed."""
        brokers = self.brokers

        def is_acceptable(replica: int) -> bool:
            broker = brokers.get(replica)
            if broker is None or replica == leaving or not (replica == returning or broker.is_active):
                return False
            return broker.has_online_directory(state.directory_of(replica))

        return Circumstances(
            is_acceptable=is_acceptable,
            default_directory=lambda broker_id: only_directory(brokers, broker_id),
            min_isr=min(self.min_isr, len(state.replicas)),
            has_elr=self.has_elr,
            election=self.election if election is None else election,
        )


def has_elr(image: ClusterImage) -> bool:
    """Whether eligible leader replicas are in force (KIP-966)."""
    return bool(image.features.get(ELR_VERSION, 0))


def only_directory(brokers: BrokersImage, broker_id: int) -> bytes:
    """The directory of a broker that has one; a broker with several chooses one itself and reports it."""
    broker = brokers.get(broker_id)
    return broker.log_dirs[0] if broker and len(broker.log_dirs) == 1 else UNASSIGNED_DIRECTORY
