"""The administrator's calls: topics, leaders, settings, groups, offsets, transactions, brokers, features, quotas.

A call about several things returns one result for each, and an error of one of them is a value in its result;
exceptions are for calls that failed as a whole.
"""

from collections.abc import Mapping

from ottla.client.admin.brokers import BrokerCalls
from ottla.client.admin.configs import ConfigCalls
from ottla.client.admin.features import FeatureCalls
from ottla.client.admin.groups import GroupCalls
from ottla.client.admin.leaders import LeaderCalls
from ottla.client.admin.quorum import QuorumCalls
from ottla.client.admin.quotas import QuotaCalls
from ottla.client.admin.scram_credentials import ScramCredentialCalls
from ottla.client.admin.topics import TopicCalls
from ottla.client.admin.transactions import TransactionCalls
from ottla.client.offsets import IsolationLevel, ListedOffset, list_offsets
from ottla.protocol.topic_partition import TopicPartition


class Admin(
    TopicCalls,
    LeaderCalls,
    ConfigCalls,
    GroupCalls,
    TransactionCalls,
    BrokerCalls,
    FeatureCalls,
    QuorumCalls,
    QuotaCalls,
    ScramCredentialCalls,
):
    """All admin calls over the connections of one client."""

    async def list_offsets(
        self,
        wanted: Mapping[TopicPartition, int],
        *,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[TopicPartition, ListedOffset]:
        """For each partition the offset of an `OffsetSpec`, or of the first record not older than a time in ms."""
        return await list_offsets(self._cluster, wanted, isolation=isolation)
