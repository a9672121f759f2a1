"""Hears of what the nodes of a simulation do: calls back after each call of a function of theirs.

All nodes of a world are in one process, so a function that is replaced here is replaced for all of them. The context of
a hook ends with the run, whatever comes of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def after(owner: Any, name: str, note: Callable[..., None]) -> Iterator[None]:
    """Calls `note` with the result and the arguments of each call that succeeds; those of a method begin with itself.

    `owner` is a class, or a module for one of its functions.
    """
    original: Callable[..., Any] = getattr(owner, name)

    def call(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options)
        note(result, *arguments, **options)
        return result

    with _replaced(owner, name, original, call):
        yield


@contextmanager
def after_awaited(owner: Any, name: str, note: Callable[..., None]) -> Iterator[None]:
    """The same for a coroutine: `note` is called in the turn of the loop in which it returns."""
    original: Callable[..., Any] = getattr(owner, name)

    async def call(*arguments: Any, **options: Any) -> Any:
        result = await original(*arguments, **options)
        note(result, *arguments, **options)
        return result

    with _replaced(owner, name, original, call):
        yield


@contextmanager
def around(owner: Any, name: str, begin: Callable[..., Callable[[Any], None] | None]) -> Iterator[None]:
    """Calls `begin` with the arguments before each call, and what that returns with the result of one that succeeds."""
    original: Callable[..., Any] = getattr(owner, name)

    def call(*arguments: Any, **options: Any) -> Any:
        end = begin(*arguments, **options)
        result = original(*arguments, **options)
        if end is not None:
            end(result)
        return result

    with _replaced(owner, name, original, call):
        yield


@contextmanager
def _replaced(owner: Any, name: str, original: Any, call: Any) -> Iterator[None]:
    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, original)
