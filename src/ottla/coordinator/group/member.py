"""One member of a classic group.

A member is *dynamic* (known by its member id alone) or *static* (KIP-345: known by its `group.instance.id`, which keeps
its place while the process restarts). While it waits for the answer to a JoinGroup or SyncGroup, the request is parked
here as a token; the shell knows what to do with a token, the state machine only ever hands it back.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ottla.protocol.messages.join_group_request import JoinGroupRequestProtocol

# A protocol the member can use: its name, and metadata that only clients understand.
ProtocolEntry = tuple[str, bytes]


def protocol_entries(protocols: Sequence[JoinGroupRequestProtocol]) -> tuple[ProtocolEntry, ...]:
    """The member's protocols in its order of preference; a repeated name counts once."""
    entries: dict[str, bytes] = {}
    for protocol in protocols:
        entries.setdefault(protocol.name, protocol.metadata)
    return tuple(entries.items())


@dataclass(slots=True, eq=False, kw_only=True)
class Member:
    """A member's identity, what it can do, what it was assigned, and which of its requests are parked."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[ProtocolEntry, ...]
    assignment: bytes = b""
    # A new member waits for its first JoinGroup answer and cannot heartbeat yet.
    is_new: bool = field(default=False, init=False)
    join_token: object | None = field(default=None, init=False)
    sync_token: object | None = field(default=None, init=False)

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def is_awaiting_join(self) -> bool:
        return self.join_token is not None

    @property
    def is_awaiting_sync(self) -> bool:
        return self.sync_token is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """Whether a missed heartbeat is excused: the member waits for the coordinator, not the other way round.

        A new member is not excused, because its client may be gone and nothing else would ever notice.
        """
        return not self.is_new and (self.is_awaiting_join or self.is_awaiting_sync)

    def metadata(self, protocol_name: str | None) -> bytes:
        """What the member said about itself under this protocol."""
        return next((metadata for name, metadata in self.protocols if name == protocol_name), b"")

    def vote(self, candidates: Collection[str]) -> str:
        """The candidate protocol that this member prefers."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise AssertionError(f"member {self.member_id} supports none of the candidate protocols {sorted(candidates)}")
