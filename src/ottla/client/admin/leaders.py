"""Elections of partitions' leaders (KIP-460).

The messages are imported by the call: most clients never make it.
"""

from collections.abc import Iterable
from enum import IntEnum

from ottla.client.admin.base import AdminCalls, raise_if_moved
from ottla.client.connection import Connection
from ottla.client.errors import KafkaError, error_of
from ottla.client.fanout import by_topic
from ottla.protocol.topic_partition import TopicPartition


class ElectionType(IntEnum):
    """Who is to lead: the first replica of the list, or, where nobody leads, any that lives and may lack records."""

    PREFERRED = 0
    UNCLEAN = 1


class LeaderCalls(AdminCalls):
    """The calls about leaders."""

    async def elect_leaders(
        self,
        partitions: Iterable[TopicPartition] | None,
        *,
        election: ElectionType = ElectionType.PREFERRED,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, KafkaError | None]:
        """Elect leaders; returns the error of each, ELECTION_NOT_NEEDED if there was nothing to do.

        None means all partitions; then the answer leaves out those that need no election.
        """
        from ottla.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
        from ottla.protocol.messages.elect_leaders_response import ElectLeadersResponse

        allowed_ms = self._allowed_ms(timeout_ms)
        rows = None
        if partitions is not None:
            numbers = by_topic(dict.fromkeys(partitions))
            rows = [TopicPartitions(topic=topic, partitions=found) for topic, found in numbers.items()]

        async def ask(connection: Connection) -> dict[TopicPartition, KafkaError | None]:
            # Version 0 knows preferred leaders only.
            version = connection.version_of(ElectLeadersRequest, lowest=1 if election is ElectionType.UNCLEAN else 0)
            request = ElectLeadersRequest(election_type=election, topic_partitions=rows, timeout_ms=allowed_ms)
            response = await connection.request(
                request, ElectLeadersResponse, version=version, timeout_ms=allowed_ms + 5_000
            )
            if (whole := error_of(response.error_code)) is not None:
                raise whole
            errors = {
                TopicPartition(topic.topic, row.partition_id): error_of(row.error_code, row.error_message)
                for topic in response.replica_election_results
                for row in topic.partition_result
            }
            for error in errors.values():
                raise_if_moved(error)
            return errors

        return await self._at_controller("electing leaders", ask, allowed_ms + 5_000)
