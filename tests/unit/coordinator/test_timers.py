from ottla.coordinator.timers import TimerTable


def test_keys_expire_in_the_order_of_their_deadlines() -> None:
    timers: TimerTable[str] = TimerTable()
    for key, deadline in (("b", 20), ("a", 10), ("c", 30)):
        timers.arm(key, deadline)
    assert timers.next_check_ms == 10
    assert list(timers.expired(25)) == ["a", "b"]
    assert timers.next_check_ms == 30
    assert len(timers) == 1


def test_a_deadline_that_moved_later_is_not_served_early() -> None:
    timers: TimerTable[str] = TimerTable()
    timers.arm("a", 10)
    timers.arm("a", 50)
    assert list(timers.expired(49)) == []
    assert timers.next_check_ms == 50
    assert list(timers.expired(50)) == ["a"]


def test_a_deadline_that_moved_earlier_is_served_once_and_in_time() -> None:
    timers: TimerTable[str] = TimerTable()
    timers.arm("a", 50)
    timers.arm("a", 10)
    assert timers.next_check_ms == 10
    assert list(timers.expired(10)) == ["a"]
    assert list(timers.expired(100)) == []


def test_a_cancelled_deadline_never_comes_even_if_its_key_is_armed_again() -> None:
    timers: TimerTable[str] = TimerTable()
    timers.arm("a", 10)
    timers.cancel("a")
    assert timers.next_check_ms is None
    timers.arm("a", 100)
    assert list(timers.expired(50)) == []
    assert timers.deadline_ms("a") == 100
    timers.cancel("never armed")


def test_keys_may_be_armed_and_cancelled_while_others_expire() -> None:
    timers: TimerTable[str] = TimerTable()
    timers.arm("a", 1)
    timers.arm("b", 2)
    served = []
    for key in timers.expired(10):
        served.append(key)
        timers.cancel("b")
        if key == "a":
            timers.arm("c", 5)
    assert served == ["a", "c"]


def test_deadlines_that_move_all_the_time_do_not_pile_up() -> None:
    timers: TimerTable[int] = TimerTable()
    for round_number in range(10_000):
        timers.arm(round_number % 3, 1_000_000 - round_number)
    assert len(timers._heap) < 200
    assert sorted(timers.expired(1_000_000)) == [0, 1, 2]
