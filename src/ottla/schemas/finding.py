"""Why a schema cannot read what another one has written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason.

    `rule` is the name that Confluent's registry gives it, such as READER_FIELD_MISSING_DEFAULT_VALUE. `path` leads to
    the place as a JSON pointer (`/fields/2/type`), or for Protobuf as names (`#/Order/2`). `detail` is what the rule is
    about there: a name, a pair of types.
    """

    rule: str
    path: str
    detail: str
    # What the two sides have in that place, as far as there is something to show.
    reader: str | None = None
    writer: str | None = None
