"""Which names a topic may have."""

from __future__ import annotations

import re

from ottla.protocol.errors import ApiError, ErrorCode

MAX_NAME_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


def check_topic_name(name: str) -> None:
    """ApiError INVALID_TOPIC_EXCEPTION when the name cannot be a directory and a metric everywhere."""
    if not name:
        raise _invalid("Topic name is empty")
    if name in (".", ".."):
        raise _invalid(f"Topic name {name!r} is reserved by file systems")
    if len(name) > MAX_NAME_LENGTH:
        raise _invalid(f"Topic name is {len(name)} characters long, at most {MAX_NAME_LENGTH} are allowed: {name!r}")
    if not _LEGAL.fullmatch(name):
        raise _invalid(f"Topic name {name!r} is illegal: only ASCII letters, digits, '.', '_' and '-' are allowed")


def is_internal(name: str) -> bool:
    return name in INTERNAL_TOPICS


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
