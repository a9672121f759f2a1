import asyncio
from typing import Any

from ottla.registry.change import Change
from ottla.registry.errors import RegistryError
from ottla.registry.leading import encode_records
from ottla.registry.registration import Registration, register_schema
from ottla.registry.state import RegistryState
from ottla.registry.waiting_changes import Decided, WaitingChange, decide_together
from ottla.schemas.schema import Schema
from unit.registry.registries import Registry, parse


def registering(subject: str, text: str) -> Any:
    def decide(state: RegistryState) -> Change[Any]:
        return register_schema(state, Registration(subject, Schema(text)), defaults=Registry().defaults, parse=parse)

    return decide


def fail(_state: RegistryState) -> Change[Any]:
    raise RuntimeError("a fault")


def decide_all(*decides: Any, bytes_max: int = 1000) -> Decided:
    def encode(records: Any) -> Any:
        return encode_records(records, bytes_max)

    async def run() -> Decided:
        loop = asyncio.get_running_loop()
        return decide_together([WaitingChange(one, loop.create_future()) for one in decides], RegistryState(), encode)

    return asyncio.run(run())


def test_each_change_is_decided_with_those_before_it() -> None:
    decided = decide_all(registering("a", '["x", "y"]'), registering("b", '["z"]'), registering("a", '["x", "y"]'))
    stored = [answer.stored for _, answer in decided.answers]
    assert [(one.subject, one.version, one.id) for one in stored] == [("a", 1, 1), ("b", 1, 2), ("a", 1, 1)]
    assert len(decided.records) == 2, "the third is the first"


def test_one_that_is_refused_leaves_the_others_alone() -> None:
    too_large = "[" + ", ".join(f'"{number}"' for number in range(500)) + "]"
    decided = decide_all(
        registering("a", '["x"]'),
        registering("a", '["y"]'),
        fail,
        registering("c", too_large),
        registering("d", '["w"]'),
    )
    assert [answer.stored.id for _, answer in decided.answers] == [1, 2]
    codes = [error.code if isinstance(error, RegistryError) else None for _, error in decided.refused]
    assert codes == [40901, None, 42209]


def test_who_has_gone_away_is_not_answered() -> None:
    async def run() -> None:
        waiting = WaitingChange(fail, asyncio.get_running_loop().create_future())
        waiting.answer.cancel()
        waiting.settle(1)
        waiting.refuse(RuntimeError())
        assert waiting.answer.cancelled()

    asyncio.run(run())
