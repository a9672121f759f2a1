"""What the REST API needs of a registry: its state, and a way to change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from ottla.registry.change import Change
from ottla.registry.registration import Parse
from ottla.registry.scopes import Defaults
from ottla.registry.state import RegistryState

T = TypeVar("T")


class Registry(Protocol):
    """One instance of a registry."""

    @property
    def state(self) -> RegistryState:
        """The newest state that was read."""

    @property
    def defaults(self) -> Defaults: ...

    @property
    def cluster_id(self) -> str:
        """The id of the cluster whose topic it keeps."""

    @property
    def group_id(self) -> str:
        """The group in which its instances choose their leader."""

    @property
    def is_leading(self) -> bool: ...

    @property
    def leader_url(self) -> str | None:
        """Where another instance leads; None if nobody is known to."""

    async def refresh(self) -> None:
        """Returns when everything was read that is committed now. RegistryError if that is not possible in time."""

    async def write(self, decide: Callable[[RegistryState], Change[T]]) -> T:
        """Decides with everything that was ever written, writes the records, and answers when they were read back.

        RegistryError if it is refused, or if this instance does not lead. What decides runs in a thread of its own,
        since a large schema takes seconds to read.
        """

    def parser(self, state: RegistryState) -> Parse:
        """Reads schemas with what they refer to in a state. May be used in any thread."""
