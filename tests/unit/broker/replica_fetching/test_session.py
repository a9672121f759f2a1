"""What a follower tells its leader's session."""

from ottla.broker.replica_fetching.session import Asked, FollowerSession, SessionRequest
from ottla.replication.follower_state import FetchPosition

ONE, TWO = (b"topic", 1), (b"topic", 2)


def at(offset: int) -> Asked:
    return Asked(FetchPosition(offset, 3, 3), 0)


def opened() -> FollowerSession:
    session = FollowerSession()
    session.want(ONE, at(1))
    session.want(TWO, at(2))
    assert session.take_request() == SessionRequest(0, 0, {ONE: at(1), TWO: at(2)}, [])
    session.answered(77)
    return session


def test_after_the_first_request_only_changes_are_named() -> None:
    session = opened()
    assert session.take_request() == SessionRequest(77, 1, {}, [])
    session.answered(77)
    session.want(ONE, at(5))
    session.want(TWO, at(2))
    assert session.take_request() == SessionRequest(77, 2, {ONE: at(5)}, [])
    assert session.asked(ONE) == at(5)


def test_what_is_dropped_is_forgotten_once() -> None:
    session = opened()
    session.drop(ONE)
    assert session.asked(ONE) is None
    assert session.take_request() == SessionRequest(77, 1, {}, [ONE])
    session.answered(77)
    session.drop(ONE)
    assert session.take_request() == SessionRequest(77, 2, {}, [])


def test_what_is_dropped_and_wanted_again_is_named_and_not_forgotten() -> None:
    session = opened()
    session.drop(ONE)
    session.want(ONE, at(1))
    assert session.take_request() == SessionRequest(77, 1, {ONE: at(1)}, [])


def test_after_a_lost_request_the_session_is_closed_and_everything_named() -> None:
    session = opened()
    session.want(ONE, at(5))
    session.drop(TWO)
    session.take_request()
    session.lost()
    assert session.take_request() == SessionRequest(77, 0, {ONE: at(5)}, [])
    session.answered(78)
    assert session.take_request() == SessionRequest(78, 1, {}, [])


def test_a_session_that_the_leader_does_not_know_is_begun_anew() -> None:
    session = opened()
    session.refused()
    assert session.take_request() == SessionRequest(0, 0, {ONE: at(1), TWO: at(2)}, [])


def test_without_a_session_everything_is_named_each_time() -> None:
    session = opened()
    session.take_request()
    session.answered(0)
    for _ in range(2):
        assert session.take_request() == SessionRequest(0, 0, {ONE: at(1), TWO: at(2)}, [])
        session.answered(0)


def test_the_epoch_wraps_to_one() -> None:
    session = opened()
    session._epoch = 2**31 - 1
    session.take_request()
    session.answered(77)
    assert session.take_request().epoch == 1
