"""When a connection begins requests, reads on and ends: decided without a socket."""

import itertools

import pytest

from ottla.broker.network.connection_state import (
    TRANSITIONS,
    Arrival,
    ConnectionState,
    Ending,
    Event,
    Flow,
    Life,
    Request,
)


def open_state() -> ConnectionState:
    return ConnectionState()


def closing_state() -> ConnectionState:
    state = ConnectionState()
    state.lose_framing()
    return state


def left_state() -> ConnectionState:
    state = ConnectionState()
    state.lose_client()
    return state


def ended_state() -> ConnectionState:
    state = ConnectionState()
    state.abort()
    return state


STATES = {Life.OPEN: open_state, Life.CLOSING: closing_state, Life.LEFT: left_state, Life.ENDED: ended_state}


def test_every_event_has_an_outcome_in_every_life_but_a_client_leaves_once() -> None:
    missing = set(itertools.product(Life, Event)) - set(TRANSITIONS)
    assert missing == {(Life.LEFT, Event.CLIENT_GONE)}


def test_nothing_leads_back_from_an_end() -> None:
    assert {after for (before, _), (after, _) in TRANSITIONS.items() if before is Life.ENDED} == {Life.ENDED}


def test_a_connection_is_ended_in_its_transport_whenever_its_life_ends() -> None:
    ends = [(before, ending) for (before, _), (after, ending) in TRANSITIONS.items() if after is Life.ENDED]
    assert all(ending is not None for before, ending in ends if before is not Life.ENDED)
    assert all(ending is None for after, ending in TRANSITIONS.values() if after is not Life.ENDED)


def test_only_a_connection_whose_transport_is_gone_is_dropped() -> None:
    dropped = {(before, event) for (before, event), (_, ending) in TRANSITIONS.items() if ending is Ending.DROP}
    assert dropped == {
        (Life.LEFT, Event.DRAINED),
        (Life.LEFT, Event.FAILED),
        (Life.LEFT, Event.ABORTED),
        (Life.ENDED, Event.CLIENT_GONE),
    }


@pytest.mark.parametrize("life", [Life.OPEN, Life.CLOSING, Life.LEFT])
def test_requests_begin_one_at_a_time_until_the_end(life: Life) -> None:
    state = STATES[life]()
    assert state.life is life
    assert state.may_begin
    state.begin(is_for_client=False)
    assert not state.may_begin
    state.complete()
    assert state.may_begin
    state.abort()
    assert not state.may_begin


def test_no_request_begins_while_anything_holds_the_connection() -> None:
    state = open_state()
    state.fill_write_buffer()
    state.mute(until=10.0)
    assert not state.may_begin
    state.empty_write_buffer()
    assert not state.may_begin
    assert state.unmute(now=10.0)
    assert state.may_begin


def test_a_mute_lasts_until_the_latest_time_that_was_asked_for() -> None:
    state = open_state()
    state.mute(until=10.0)
    state.mute(until=5.0)
    assert not state.unmute(now=5.0)
    assert state.is_muted
    assert state.muted_until == 10.0
    assert state.unmute(now=10.5)
    assert not state.is_muted


def test_a_stop_closes_at_once_without_a_request_and_after_it_otherwise() -> None:
    assert open_state().stop() is Ending.CLOSE
    busy = open_state()
    busy.begin(is_for_client=False)
    assert busy.stop() is None
    assert busy.life is Life.CLOSING
    assert busy.end_turn(has_backlog=False) is None
    busy.complete()
    assert busy.end_turn(has_backlog=True) is None
    assert busy.end_turn(has_backlog=False) is Ending.CLOSE
    assert busy.life is Life.ENDED


def test_a_stop_does_not_take_from_a_client_that_left_what_it_left_behind() -> None:
    state = left_state()
    assert state.stop() is None
    assert state.may_begin
    assert state.end_turn(has_backlog=False) is Ending.DROP


def test_a_connection_that_is_open_outlives_its_turns() -> None:
    state = open_state()
    assert state.end_turn(has_backlog=False) is None
    assert state.life is Life.OPEN


def test_a_full_write_buffer_does_not_hold_up_the_requests_of_a_client_that_left() -> None:
    state = open_state()
    state.fill_write_buffer()
    assert state.lose_client() is None
    assert state.may_begin


def test_a_request_for_its_client_alone_is_in_vain_once_the_client_is_gone() -> None:
    state = open_state()
    state.begin(is_for_client=True)
    assert not state.is_in_vain
    state.lose_client()
    assert state.is_in_vain
    state.complete()
    assert not state.is_in_vain
    state.begin(is_for_client=False)
    assert not state.is_in_vain


def test_what_was_answered_before_a_failure_leaves_unless_the_client_does_not_read() -> None:
    assert open_state().fail() is Ending.CLOSE
    stuck = open_state()
    stuck.fill_write_buffer()
    assert stuck.fail() is Ending.ABORT


def test_an_end_that_is_still_flushing_can_be_aborted_and_is_dropped_when_the_transport_is_gone() -> None:
    state = open_state()
    assert state.fail() is Ending.CLOSE
    assert state.abort() is Ending.ABORT
    assert state.lose_client() is Ending.DROP
    assert not state.may_begin


def test_reading_pauses_for_a_backlog_and_for_memory_and_resumes_when_neither_is_left() -> None:
    state = open_state()
    assert state.limit_reading(is_backlog_full=False) is None
    assert state.limit_reading(is_backlog_full=True) is Flow.PAUSE
    state.arrival = Arrival.WAITING
    assert state.limit_reading(is_backlog_full=False) is None
    state.arrival = Arrival.RESERVED
    assert state.limit_reading(is_backlog_full=False) is Flow.RESUME


def test_a_connection_that_is_closing_never_resumes_reading() -> None:
    state = closing_state()
    assert not state.is_reading
    assert state.limit_reading(is_backlog_full=False) is None


@pytest.mark.parametrize("life", [Life.LEFT, Life.ENDED])
def test_the_reading_of_a_transport_that_is_gone_is_left_alone(life: Life) -> None:
    assert STATES[life]().limit_reading(is_backlog_full=True) is None


def test_two_requests_at_a_time_are_a_bug() -> None:
    state = open_state()
    state.begin(is_for_client=False)
    with pytest.raises(AssertionError, match="one request at a time"):
        state.begin(is_for_client=False)
    assert state.request is Request.RUNNING
