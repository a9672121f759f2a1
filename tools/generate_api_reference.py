"""Writes docs/reference/apis.md from the handlers; `--check` only tells whether it is fresh."""

import sys
from collections.abc import Iterator
from pathlib import Path

from ottla.broker.handlers import load_handlers
from ottla.protocol.api_keys import ApiKey
from ottla.security.permissions import PERMISSIONS
from reference_page import write_or_check

REFERENCE = Path(__file__).parent.parent / "docs" / "reference" / "apis.md"

INTRODUCTION = """\
# APIs

What a node serves, and in which versions: those of Apache Kafka 4.3. The list is made from the handlers that exist, as
is the answer to ApiVersions. Produce is announced from version 0 on, as Kafka does for librdkafka's sake, and served
from version 3.

The last column is the permission that a request will need once there are ACLs; today everybody may do everything.

| key | API | versions | permission |
| --- | --- | --- | --- |"""


def reference() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield INTRODUCTION
    for module in sorted(load_handlers(), key=lambda handler: handler.API_KEY):
        request = module.REQUEST
        last = request.VERSIONS.stop - (2 if request.LATEST_VERSION_UNSTABLE else 1)
        permission = PERMISSIONS[ApiKey(module.API_KEY)]
        needed = "none" if permission is None else f"{permission[0].name} on {permission[1].name}"
        name = request.__name__.removesuffix("Request")
        yield f"| {module.API_KEY} | {name} | {request.VERSIONS.start}-{last} | {needed} |"


if __name__ == "__main__":
    sys.exit(write_or_check(REFERENCE, reference()))
