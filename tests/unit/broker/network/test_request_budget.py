"""How large requests share the memory that they may take."""

from ottla.broker.network.request_budget import RequestBudget


def test_a_request_is_let_in_while_anything_is_left_and_the_next_waits_for_its_release() -> None:
    budget = RequestBudget(100)
    let_in: list[str] = []
    assert budget.try_reserve("first", 60, lambda: let_in.append("first"))
    assert budget.try_reserve("second", 60, lambda: let_in.append("second"))
    assert not budget.try_reserve("third", 10, lambda: let_in.append("third"))
    budget.release("first", 60)
    assert let_in == ["third"]
    assert budget.reserved_bytes == 70


def test_nobody_overtakes_those_that_wait() -> None:
    budget = RequestBudget(10)
    let_in: list[str] = []
    assert budget.try_reserve("holder", 10, lambda: None)
    assert not budget.try_reserve("first", 10, lambda: let_in.append("first"))
    assert not budget.try_reserve("second", 1, lambda: let_in.append("second"))
    budget.release("holder", 10)
    assert let_in == ["first"]
    budget.release("first", 10)
    assert let_in == ["first", "second"]


def test_who_leaves_waits_no_more() -> None:
    budget = RequestBudget(10)
    let_in: list[str] = []
    assert budget.try_reserve("holder", 10, lambda: None)
    assert not budget.try_reserve("gone", 10, lambda: let_in.append("gone"))
    budget.release("gone", 0)
    budget.release("holder", 10)
    assert let_in == []
    assert budget.reserved_bytes == 0


def test_without_a_limit_everybody_is_let_in() -> None:
    budget = RequestBudget()
    assert all(budget.try_reserve(number, 10**9, lambda: None) for number in range(100))
