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

**A client with `group.protocol=consumer`** (KIP-848) wants ConsumerGroupHeartbeat (68), which is not in the list, and
sees that in the answer to ApiVersions. So it never sends the request, and the node cannot tell: Java's consumer
throws UnsupportedVersionException and names `group.protocol=classic`; librdkafka's (2.16) asks for its coordinator
again and then waits in silence, and only `debug=cgrp` shows "ConsumerGroupHeartbeatRequest not supported by broker".
Set `group.protocol=classic`. A client that sends a request for an API that is not served all the same is
disconnected, and the node's log says which client it was, what it wanted and what to set.

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
