"""Kinds of records in `__consumer_offsets` that belong to groups which this release does not serve yet.

A log that Apache Kafka has written may hold them. They stay where they are.
"""

from typing import Final

_CONSUMER: Final = "consumer groups of KIP-848"
_SHARE: Final = "share groups"
_STREAMS: Final = "streams groups"

KINDS: Final = {
    3: ("ConsumerGroupMetadata", _CONSUMER),
    4: ("ConsumerGroupPartitionMetadata", _CONSUMER),
    5: ("ConsumerGroupMemberMetadata", _CONSUMER),
    6: ("ConsumerGroupTargetAssignmentMetadata", _CONSUMER),
    7: ("ConsumerGroupTargetAssignmentMember", _CONSUMER),
    8: ("ConsumerGroupCurrentMemberAssignment", _CONSUMER),
    10: ("ShareGroupMemberMetadata", _SHARE),
    11: ("ShareGroupMetadata", _SHARE),
    12: ("ShareGroupTargetAssignmentMetadata", _SHARE),
    13: ("ShareGroupTargetAssignmentMember", _SHARE),
    14: ("ShareGroupCurrentMemberAssignment", _SHARE),
    15: ("ShareGroupStatePartitionMetadata", _SHARE),
    16: ("ConsumerGroupRegularExpression", _CONSUMER),
    17: ("StreamsGroupMetadata", _STREAMS),
    19: ("StreamsGroupMemberMetadata", _STREAMS),
    20: ("StreamsGroupTargetAssignmentMetadata", _STREAMS),
    21: ("StreamsGroupTargetAssignmentMember", _STREAMS),
    22: ("StreamsGroupCurrentMemberAssignment", _STREAMS),
    23: ("StreamsGroupTopology", _STREAMS),
}


def describe_kind(kind: int) -> str:
    """What a record of this kind is, for the log line that says it was skipped."""
    if kind not in KINDS:
        return f"record type {kind}, which this release does not know"
    name, owner = KINDS[kind]
    return f"record type {kind} ({name}, of {owner}, which this release does not serve)"
