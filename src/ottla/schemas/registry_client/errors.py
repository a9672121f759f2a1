"""What can go wrong between a client and a registry."""

from __future__ import annotations

from typing import Final

from ottla.schemas.errors import SchemaError


class RegistryFailure(SchemaError):
    """The base of all of them."""


class RegistryUnreachable(RegistryFailure):
    """No registry of the list has served the request; the message says what each of them did."""


class UnexpectedAnswer(RegistryFailure):
    """Something answers that is not a registry, or not one that speaks as others do."""


class RegistryRefusal(RegistryFailure):
    """The registry said no, with Confluent's code: 40401 is an unknown subject, 40901 an incompatible schema."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


# Subjects, versions and schemas that are not there.
NOT_FOUND_CODES: Final = range(40401, 40500)
NO_SUBJECT_CONFIG: Final = 40408
NO_SUBJECT_MODE: Final = 40409
# The registry was asked while none of its instances led: nothing was changed.
NO_LEADER: Final = 50004
