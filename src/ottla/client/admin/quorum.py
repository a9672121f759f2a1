"""The voters of the metadata quorum.

The messages are imported by the calls: most clients never make one of them.
"""

from collections.abc import Mapping

from ottla.client.addresses import Address
from ottla.client.admin.base import AdminCalls
from ottla.client.connection import Connection
from ottla.client.errors import raise_for


class QuorumCalls(AdminCalls):
    """The calls that change voters."""

    async def add_voter(self, voter_id: int, directory_id: bytes, listeners: Mapping[str, Address]) -> None:
        """Make a controller a voter of the metadata quorum (KIP-853)."""
        from ottla.protocol.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
        from ottla.protocol.messages.add_raft_voter_response import AddRaftVoterResponse

        rows = [Listener(name=name, host=address.host, port=address.port) for name, address in listeners.items()]

        async def ask(connection: Connection) -> None:
            request = AddRaftVoterRequest(
                cluster_id=self._cluster.metadata.cluster_id,
                timeout_ms=round(self._cluster.settings.request_timeout_ms),
                voter_id=voter_id,
                voter_directory_id=directory_id,
                listeners=rows,
            )
            response = await connection.request(request, AddRaftVoterResponse)
            raise_for(response.error_code, response.error_message)

        await self._at_any("adding a voter", ask)

    async def remove_voter(self, voter_id: int, directory_id: bytes) -> None:
        """Take a voter out of the metadata quorum (KIP-853)."""
        from ottla.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
        from ottla.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse

        async def ask(connection: Connection) -> None:
            request = RemoveRaftVoterRequest(
                cluster_id=self._cluster.metadata.cluster_id, voter_id=voter_id, voter_directory_id=directory_id
            )
            response = await connection.request(request, RemoveRaftVoterResponse)
            raise_for(response.error_code, response.error_message)

        await self._at_any("removing a voter", ask)
