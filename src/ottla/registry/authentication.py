"""Who asks, and what they may do: basic authentication, as HTTP has it.

A hash of a password takes long to check, on purpose, and clients send theirs with each request. So what was right once
is remembered, as a digest under a key of this process: neither passwords nor anything that outlives the process is
kept. Checks run beside the event loop, few at a time, so that somebody who guesses does not keep the others waiting.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import os
from dataclasses import dataclass
from typing import Final

from ottla.registry.users import User, Users

_SCHEME: Final = "basic"
_ANY_ROLE: Final = "*"
_REMEMBERED_MAX: Final = 10_000
_CHECKS_AT_ONCE: Final = 2
# More than any name and password; such a header is not even decoded.
_HEADER_CHARS_MAX: Final = 8 * 1024


@dataclass(frozen=True, slots=True)
class AuthenticationSettings:
    """By their names: authentication.users.file, .realm, .roles, .readonly.roles, .skip.paths."""

    users_file: str
    realm: str
    roles: frozenset[str]
    read_only_roles: frozenset[str]
    open_paths: tuple[str, ...] = ()

    def admits(self, user: User) -> bool:
        return _ANY_ROLE in self.roles or not user.roles.isdisjoint(self.roles)

    def may_change(self, user: User) -> bool:
        """Not with read-only roles alone."""
        return not user.roles or not user.roles <= self.read_only_roles

    def is_open(self, path: str) -> bool:
        """Whether nobody is asked who they are."""
        return any(
            path == one or (one.endswith("/*") and path.startswith(one.removesuffix("*"))) for one in self.open_paths
        )


class Authenticator:
    def __init__(self, users: Users) -> None:
        self._users = users
        self._key = os.urandom(32)
        # Oldest first.
        self._remembered: dict[bytes, User] = {}
        self._checks = asyncio.Semaphore(_CHECKS_AT_ONCE)

    async def identify(self, header: str | None) -> User | None:
        """The user that an Authorization header proves; None if it proves nobody."""
        if header is None or len(header) > _HEADER_CHARS_MAX:
            return None
        digest = hmac.digest(self._key, header.encode("utf-8", "surrogatepass"), hashlib.sha256)
        if (known := self._remembered.get(digest)) is not None:
            return known
        credentials = _decode(header)
        if credentials is None:
            return None
        user = await self._check(*credentials)
        if user is not None:
            if len(self._remembered) >= _REMEMBERED_MAX:
                del self._remembered[next(iter(self._remembered))]
            self._remembered[digest] = user
        return user

    async def _check(self, name: str, password: str) -> User | None:
        if not self._users.is_costly(name):
            return self._users.check(name, password)
        async with self._checks:
            return await asyncio.to_thread(self._users.check, name, password)


def _decode(header: str) -> tuple[str, str] | None:
    scheme, _, encoded = header.strip().partition(" ")
    if scheme.lower() != _SCHEME:
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    name, separator, password = text.partition(":")
    return (name, password) if separator else None
