"""DescribeTransactionsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class DescribeTransactionsRequest(Message):
    __slots__ = ("transactional_ids",)
    FIELDS = (
        ("transactional_ids", "[]string", "0+", "", -1, ""),
    )
    API_KEY = 65
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        transactional_ids: Sequence[str] = (),
    ) -> None:
        self.transactional_ids = transactional_ids
