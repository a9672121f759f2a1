"""What can go wrong between a client and a registry."""

from __future__ import annotations

from typing import Final

from ottla.schemas.errors import SchemaError


class RegistryFailure(SchemaError):
    """The base of both."""


class RegistryUnreachable(RegistryFailure):
    """No registry of the list has answered; the message says what each of them did."""


class RegistryRefusal(RegistryFailure):
    """The registry said no, with Confluent's code: 40401 is an unknown subject, 40901 an incompatible schema."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


# Subjects, versions and schemas that are not there.
NOT_FOUND_CODES: Final = range(40401, 40500)
