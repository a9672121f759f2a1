"""The users of a registry: a file in Jetty's property format, `name: password,role,...`, a line for each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ottla.config.properties_file import load_properties
from ottla.config.values import ConfigError
from ottla.registry.passwords import HashedPassword, PlainPassword, StoredPassword, UnusablePassword, read_password

_SALT_BYTES: Final = 16
_DIGEST_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class User:
    name: str
    password: StoredPassword
    roles: frozenset[str] = frozenset()


class Users:
    def __init__(self, users: Iterable[User]) -> None:
        self._by_name: Mapping[str, User] = {user.name: user for user in users}
        hashed = [one.password for one in self._by_name.values() if isinstance(one.password, HashedPassword)]
        # Whoever guesses names must not see from the time that there is none.
        stand_in: StoredPassword = PlainPassword(os.urandom(_DIGEST_BYTES).hex())
        if hashed:
            cost = hashed[0]
            stand_in = HashedPassword(os.urandom(_SALT_BYTES), os.urandom(_DIGEST_BYTES), cost.n, cost.r, cost.p)
        self._nobody = User("", stand_in)

    def __len__(self) -> int:
        return len(self._by_name)

    def is_costly(self, name: str) -> bool:
        """Whether a check of this user's password takes long."""
        return isinstance(self._by_name.get(name, self._nobody).password, HashedPassword)

    def check(self, name: str, password: str) -> User | None:
        """The user, if the password is theirs."""
        user = self._by_name.get(name, self._nobody)
        return user if user.password.fits(password) and user is not self._nobody else None


def load_users(path: Path) -> Users:
    """ConfigError if the file cannot be read, or has none."""
    users = []
    for name, value in load_properties(path).items():
        password, *roles = (part.strip() for part in value.split(","))
        try:
            users.append(User(name, read_password(password), frozenset(filter(None, roles))))
        except UnusablePassword as error:
            raise ConfigError(f"{path}: user {name}: {error}.") from None
    if not users:
        raise ConfigError(f"{path} has no users: write lines of the form name: password,role")
    return Users(users)
