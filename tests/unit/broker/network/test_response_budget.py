"""Who has to go when answers that nobody reads take too much."""

from ottla.broker.network.response_budget import RESPONSE_BYTES_MAX, ResponseBudget


class Owner:
    def __init__(self, name: str, gone: list[str]) -> None:
        self.name = name
        self._gone = gone

    def give_up(self) -> None:
        self._gone.append(self.name)


def test_the_answers_that_waited_longest_are_given_up_at_twice_the_budget() -> None:
    gone: list[str] = []
    first, second, third = (Owner(name, gone) for name in ("first", "second", "third"))
    budget = ResponseBudget()
    budget.take(first.give_up, RESPONSE_BYTES_MAX)
    budget.take(second.give_up, RESPONSE_BYTES_MAX)
    assert budget.left_bytes == 0
    assert not budget.is_full
    budget.take(third.give_up, 1)
    assert gone == ["first"]
    assert budget.is_full, "what the first had is not free before it is gone"
    budget.give_back(first.give_up)
    assert not budget.is_full
    assert budget.waiting_bytes == RESPONSE_BYTES_MAX + 1


def test_an_owner_gives_everything_back_at_once() -> None:
    owner = Owner("any", [])
    budget = ResponseBudget()
    budget.take(owner.give_up, 10)
    budget.take(owner.give_up, 20)
    budget.give_back(owner.give_up)
    budget.give_back(owner.give_up)
    assert budget.waiting_bytes == 0
