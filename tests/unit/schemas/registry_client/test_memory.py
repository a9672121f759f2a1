import traceback

import pytest

from ottla.schemas.registry_client import memory
from ottla.schemas.registry_client.errors import RegistryRefusal, RegistryUnreachable
from ottla.schemas.registry_client.memory import MISSING_KEPT_S, Memory
from ottla.schemas.registry_client.registered import RegisteredSchema
from ottla.schemas.schema import Schema

FOUND = RegisteredSchema(Schema('"int"'), 1)


class Registry:
    """Counts questions, and has answers."""

    def __init__(self, answer: RegisteredSchema | Exception = FOUND) -> None:
        self.answer = answer
        self.asked = 0

    def ask(self) -> RegisteredSchema:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def missing() -> RegistryRefusal:
    return RegistryRefusal(404, 40403, "Schema 1 not found")


def test_what_was_found_is_not_asked_for_again(clock: Clock) -> None:
    kept, registry = Memory(clock), Registry()
    assert kept.remember("a", registry.ask) is kept.remember("a", registry.ask) is FOUND
    assert registry.asked == 1


def test_what_is_missing_is_asked_for_again_after_seconds(clock: Clock) -> None:
    kept, registry = Memory(clock), Registry(missing())
    for _ in range(5):
        with pytest.raises(RegistryRefusal):
            kept.remember("a", registry.ask)
    assert registry.asked == 1
    clock.now_s = MISSING_KEPT_S
    registry.answer = FOUND
    assert kept.remember("a", registry.ask) is FOUND


def test_what_is_missing_is_asked_for_again_when_something_was_added(clock: Clock) -> None:
    kept, registry = Memory(clock), Registry(missing())
    with pytest.raises(RegistryRefusal):
        kept.remember("a", registry.ask)
    kept.forget_missing()
    registry.answer = FOUND
    assert kept.remember("a", registry.ask) is FOUND
    kept.forget()
    assert len(kept) == 0


@pytest.mark.parametrize("failure", [RegistryUnreachable("away"), RegistryRefusal(401, 401, "who are you?")])
def test_other_failures_are_not_remembered(clock: Clock, failure: Exception) -> None:
    kept, registry = Memory(clock), Registry(failure)
    for _ in range(2):
        with pytest.raises(type(failure)):
            kept.remember("a", registry.ask)
    assert registry.asked == 2


def test_memory_has_a_bound_and_forgets_what_was_not_used(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "KEPT_MAX", 2)
    kept, registry = Memory(clock), Registry()
    for key in "abac":
        kept.remember(key, registry.ask)
    assert (len(kept), registry.asked) == (2, 3)
    kept.remember("a", registry.ask)
    assert registry.asked == 3
    registry.answer = missing()
    for key in "defg":
        with pytest.raises(RegistryRefusal):
            kept.remember(key, registry.ask)
    assert len(kept) == 4


def test_a_refusal_that_is_told_often_does_not_grow(clock: Clock) -> None:
    kept, registry = Memory(clock), Registry(missing())
    lengths = set()
    for _ in range(5):
        with pytest.raises(RegistryRefusal) as refused:
            kept.remember("a", registry.ask)
        lengths.add(len(traceback.extract_tb(refused.value.__traceback__)))
    assert len(lengths) <= 2
