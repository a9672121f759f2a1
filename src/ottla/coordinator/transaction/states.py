"""The states of a transactional id, numbered as in the transaction log, and what may follow what.

                   +--------------------------- next transaction ---------------------------+
                   v                                                                        |
    (new) --> EMPTY --> ONGOING --> PREPARE_COMMIT --> COMPLETE_COMMIT ---------------------+
                |          |                                                                |
                |          +-----> PREPARE_ABORT ---> COMPLETE_ABORT -----------------------+
                |          |        ^
                |          +--> PREPARE_EPOCH_FENCE   (a new instance, or time is up)
                +------------------ ^ abort of a transaction that wrote nothing (version 2)

PREPARE_EPOCH_FENCE lasts no longer than the decision that passes through it and is never logged. DEAD is an id that is
being forgotten. A prepared outcome cannot change any more: whichever node coordinates the id has to complete it.
"""

from enum import IntEnum
from types import MappingProxyType


class TransactionState(IntEnum):
    """The state of a transactional id."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def is_prepared(self) -> bool:
        """Whether the outcome is settled and markers are on their way."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_at_rest(self) -> bool:
        """Whether no transaction is open."""
        return self in _AT_REST

    @property
    def label(self) -> str:
        """The name that tools show and filter by."""
        return self.name.title().replace("_", "")


_AT_REST = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})

PREDECESSORS = MappingProxyType(
    {
        TransactionState.EMPTY: _AT_REST,
        TransactionState.ONGOING: _AT_REST | {TransactionState.ONGOING},
        TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
        TransactionState.PREPARE_ABORT: _AT_REST | {TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE},
        TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
        TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
        TransactionState.DEAD: _AT_REST,
        TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.ONGOING}),
    }
)

STATES_BY_LABEL = MappingProxyType({state.label: state for state in TransactionState})
