"""The states of a classic group, and the transitions between them.

    from                 to                    when
    -------------------  --------------------  ---------------------------------------------------------------------
    Empty                PreparingRebalance    a first member joins
    PreparingRebalance   CompletingRebalance   every member has rejoined, or the rebalance timeout dropped the others
    PreparingRebalance   Empty                 the last member is gone
    CompletingRebalance  Stable                the leader's assignment is committed
    CompletingRebalance  PreparingRebalance    a member joins, leaves, expires or changes its metadata
    Stable               PreparingRebalance    the same, or the leader rejoins
    any                  Dead                  the group is deleted, or its shard moves to another broker

A group that never had members but holds offsets (a "simple" group) is Empty without a protocol type.
"""

from enum import StrEnum


class GroupState(StrEnum):
    """A state, valued by the name that ListGroups and DescribeGroups show."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


VALID_PREVIOUS_STATES: dict[GroupState, frozenset[GroupState]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.PREPARING_REBALANCE: frozenset({GroupState.EMPTY, GroupState.COMPLETING_REBALANCE, GroupState.STABLE}),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING_REBALANCE}),
    GroupState.DEAD: frozenset(GroupState),
}
