import pytest

from ottla.coordinator.transaction.states import PREDECESSORS, STATES_BY_LABEL, TransactionState


def test_states_have_the_numbers_and_names_of_kafka() -> None:
    assert {state.label: int(state) for state in TransactionState} == {
        "Empty": 0,
        "Ongoing": 1,
        "PrepareCommit": 2,
        "PrepareAbort": 3,
        "CompleteCommit": 4,
        "CompleteAbort": 5,
        "Dead": 6,
        "PrepareEpochFence": 7,
    }
    assert STATES_BY_LABEL["PrepareCommit"] is TransactionState.PREPARE_COMMIT


def test_every_state_says_what_may_come_before_it() -> None:
    assert set(PREDECESSORS) == set(TransactionState)


@pytest.mark.parametrize("state", [TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT])
def test_what_is_prepared_can_only_be_completed(state: TransactionState) -> None:
    (follower,) = [following for following, before in PREDECESSORS.items() if state in before]
    assert follower.label == state.label.replace("Prepare", "Complete")
