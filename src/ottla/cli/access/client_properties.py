"""Client settings from properties, for commands: an invalid one is a usage error that names it."""

import functools
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from ottla.cli.exits import UsageError
from ottla.client import properties

P = ParamSpec("P")
T = TypeVar("T")


def _for_commands(read: Callable[P, T]) -> Callable[P, T]:
    @functools.wraps(read)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except properties.InvalidProperty as error:
            raise UsageError(f"{error}.", remedy=error.remedy) from None

    return run


client_settings: Final = _for_commands(properties.client_settings)
producer_settings: Final = _for_commands(properties.producer_settings)
consumer_settings: Final = _for_commands(properties.consumer_settings)
group_settings: Final = _for_commands(properties.group_settings)
codec_named: Final = _for_commands(properties.codec_named)
