"""Records that the image keeps by key until a part of the system serves them.

Access rules, quotas, SCRAM credentials, delegation tokens and controller registrations are replayed, kept and written
to snapshots as they came. Dropping one at a snapshot would lose it for good.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

from immutables import Map

from ottla.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from ottla.protocol.messages.client_quota_record import ClientQuotaRecord
from ottla.protocol.messages.delegation_token_record import DelegationTokenRecord
from ottla.protocol.messages.register_controller_record import RegisterControllerRecord
from ottla.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from ottla.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from ottla.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from ottla.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from ottla.protocol.schema import Message

RecordKey = tuple[str, Hashable]

# In the order of Kafka's snapshots.
CONTROLLER, QUOTA, ACL, SCRAM, TOKEN = "controller", "quota", "acl", "scram", "token"

_KEYS: dict[type[Message], Callable[[Any], RecordKey]] = {
    RegisterControllerRecord: lambda r: (CONTROLLER, r.controller_id),
    AccessControlEntryRecord: lambda r: (ACL, r.id),
    RemoveAccessControlEntryRecord: lambda r: (ACL, r.id),
    UserScramCredentialRecord: lambda r: (SCRAM, (r.name, r.mechanism)),
    RemoveUserScramCredentialRecord: lambda r: (SCRAM, (r.name, r.mechanism)),
    DelegationTokenRecord: lambda r: (TOKEN, r.token_id),
    RemoveDelegationTokenRecord: lambda r: (TOKEN, r.token_id),
    ClientQuotaRecord: lambda r: (QUOTA, (_entity(r), r.key)),
}
_REMOVALS = (RemoveAccessControlEntryRecord, RemoveUserScramCredentialRecord, RemoveDelegationTokenRecord)


@dataclass(frozen=True, slots=True)
class KeptRecords:
    _by_key: Map[RecordKey, Message] = field(default_factory=Map)

    @staticmethod
    def keeps(record: Message) -> bool:
        return type(record) in _KEYS

    def with_record(self, record: Message) -> KeptRecords:
        key = _KEYS[type(record)](record)
        removes = isinstance(record, _REMOVALS) or (isinstance(record, ClientQuotaRecord) and record.remove)
        if removes:
            return KeptRecords(self._by_key.delete(key)) if key in self._by_key else self
        return KeptRecords(self._by_key.set(key, record))

    def of(self, kind: str) -> list[Message]:
        return [self._by_key[key] for key in sorted((key for key in self._by_key if key[0] == kind), key=repr)]

    def to_records(self, *kinds: str) -> Iterator[Message]:
        for kind in kinds:
            yield from self.of(kind)


def _entity(record: ClientQuotaRecord) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(((e.entity_type, e.entity_name) for e in record.entity), key=repr))
