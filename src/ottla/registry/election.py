"""Which of several instances writes: they choose it in a group, and speak Confluent's protocol there.

Each member tells its address and whether it may lead. The one that divides the group names one leader to all: the
eligible member with the smallest URL, so that every divider chooses alike. Two members with one URL would forward
requests to themselves, so then nobody leads.

A choice holds until the next one: a rebalance waits for members that have died, and whoever leads need not rest
meanwhile. The group does not keep one that was asleep from writing; its transactions are fenced by those of its
successor.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ottla.client.group_member import Offer

PROTOCOL_TYPE: Final = "sr"
PROTOCOL: Final = "v0"
_VERSION: Final = 1
_NO_ERROR: Final = 0
_DUPLICATE_URLS: Final = 1


@dataclass(frozen=True, slots=True)
class Identity:
    """Where an instance can be reached, and whether it may lead (`leader.eligibility`)."""

    host: str
    port: int
    scheme: str = "http"
    is_eligible: bool = True

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Choice:
    """Whom the group has chosen; None if nobody may lead."""

    leader: Identity | None
    member_id: str | None = None
    has_duplicate_urls: bool = False


def choose_leader(members: Mapping[str, Identity]) -> Choice:
    if len({identity.url for identity in members.values()}) < len(members):
        return Choice(None, has_duplicate_urls=True)
    eligible = [(identity.url, member_id) for member_id, identity in members.items() if identity.is_eligible]
    if not eligible:
        return Choice(None)
    _, member_id = min(eligible)
    return Choice(members[member_id], member_id)


class LeaderElection:
    """A `Participant` that wants to know who leads."""

    def __init__(
        self, own: Identity, on_choice: Callable[[Choice | None], None], on_rebalance_due: Callable[[], None]
    ) -> None:
        """`on_choice` hears whom the group has chosen, and None when the member has left it."""
        self._own = own
        self._on_choice = on_choice
        self._on_rebalance_due = on_rebalance_due

    def offer(self) -> Sequence[Offer]:
        return [Offer(PROTOCOL, encode_identity(self._own))]

    async def prepare_to_join(self) -> None:
        """Nothing is given back: see the module."""

    async def divide(self, protocol: str, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        del protocol
        known = {member_id: decode_identity(metadata) for member_id, metadata in members.items()}
        part = encode_choice(choose_leader({key: one for key, one in known.items() if one is not None}))
        return dict.fromkeys(members, part)

    async def take(self, part: bytes) -> None:
        self._on_choice(decode_choice(part))

    async def watch(self) -> None:
        """Nothing that was divided changes by itself."""

    async def leave(self) -> None:
        self._on_choice(None)

    def rebalance_due(self) -> None:
        self._on_rebalance_due()


# -- what members tell each other -------------------------------------------------------------------------------------


def encode_identity(identity: Identity) -> bytes:
    return _write(_fields_of(identity))


def decode_identity(data: bytes) -> Identity | None:
    """None for what is no identity; such a member is left out."""
    return _identity(_read(data))


def encode_choice(choice: Choice) -> bytes:
    return _write(
        {
            "version": _VERSION,
            "error": _DUPLICATE_URLS if choice.has_duplicate_urls else _NO_ERROR,
            "master": choice.member_id,
            "master_identity": None if choice.leader is None else _fields_of(choice.leader),
        }
    )


def decode_choice(data: bytes) -> Choice:
    """Nobody, for what is no choice."""
    fields = _read(data)
    leader, member_id = _identity(fields.get("master_identity")), fields.get("master")
    if fields.get("error") == _DUPLICATE_URLS:
        return Choice(None, has_duplicate_urls=True)
    return Choice(None) if leader is None or not isinstance(member_id, str) else Choice(leader, member_id)


def _fields_of(identity: Identity) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "host": identity.host,
        "port": identity.port,
        "master_eligibility": identity.is_eligible,
        "scheme": identity.scheme,
    }


def _identity(fields: Any) -> Identity | None:
    if not isinstance(fields, dict):
        return None
    host, port = fields.get("host"), fields.get("port")
    if not isinstance(host, str) or type(port) is not int:
        return None
    return Identity(host, port, str(fields.get("scheme", "http")), fields.get("master_eligibility") is True)


def _write(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def _read(data: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
