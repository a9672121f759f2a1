"""Where a transaction may stand when a request comes, and what may come: the two sides of the tables of answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from itertools import groupby

from harness.transaction_wire import Identity, TransactionWire

Prepare = Callable[[TransactionWire, str, str], Awaitable[Identity]]
Request = Callable[[TransactionWire, Identity, int, str], Awaitable[str]]

STRANGER = 1_000_000


async def unknown(wire: TransactionWire, name: str, topic: str) -> Identity:
    return Identity(name, STRANGER, 0)


async def nameless(wire: TransactionWire, name: str, topic: str) -> Identity:
    return Identity("", STRANGER, 0)


async def empty(wire: TransactionWire, name: str, topic: str) -> Identity:
    return await wire.start(name)


async def begun(wire: TransactionWire, name: str, topic: str) -> Identity:
    identity = await wire.start(name)
    await wire.write(identity, topic, 0, 0)
    return identity


async def begun_in_the_old_way(wire: TransactionWire, name: str, topic: str) -> Identity:
    identity = await wire.start(name)
    assert await wire.add_partitions(identity, 3, topic, 0) == "NONE"
    await wire.write(identity, topic, 0, 0, version=11)
    return identity


def ended(*, commit: bool, version: int) -> Prepare:
    async def prepare(wire: TransactionWire, name: str, topic: str) -> Identity:
        identity = await (begun if version == 5 else begun_in_the_old_way)(wire, name, topic)
        error, after = await wire.end(identity, version, commit=commit)
        assert error == "NONE"
        await wire.wait_for(name, "CompleteCommit" if commit else "CompleteAbort")
        return after

    return prepare


def with_epoch(change: int, prepare: Prepare) -> Prepare:
    async def changed(wire: TransactionWire, name: str, topic: str) -> Identity:
        identity = await prepare(wire, name, topic)
        return identity.with_epoch(identity.epoch + change)

    return changed


async def fenced(wire: TransactionWire, name: str, topic: str) -> Identity:
    first = await wire.start(name)
    await wire.start(name)
    return first


async def another_producer(wire: TransactionWire, name: str, topic: str) -> Identity:
    identity = await begun(wire, name, topic)
    return Identity(name, identity.producer_id + STRANGER, identity.epoch)


STATES: dict[str, Prepare] = {
    "an id that nobody has": unknown,
    "no id": nameless,
    "nothing begun": empty,
    "begun": begun,
    "begun, old": begun_in_the_old_way,
    "committed": ended(commit=True, version=5),
    "committed, epoch before": with_epoch(-1, ended(commit=True, version=5)),
    "committed, old": ended(commit=True, version=4),
    "aborted": ended(commit=False, version=5),
    "aborted, epoch before": with_epoch(-1, ended(commit=False, version=5)),
    "aborted, old": ended(commit=False, version=4),
    "fenced": fenced,
    "begun, later epoch": with_epoch(5, begun),
    "begun, another producer id": another_producer,
}


async def add_partition(wire: TransactionWire, identity: Identity, version: int, topic: str) -> str:
    if version <= 3:
        return await wire.add_partitions(identity, version, topic, 1)
    return await wire.add_or_verify(identity, version, topic, 1, verify_only=False)


async def verify_partition(wire: TransactionWire, identity: Identity, version: int, topic: str) -> str:
    return await wire.add_or_verify(identity, version, topic, 0, verify_only=True)


async def verify_new_partition(wire: TransactionWire, identity: Identity, version: int, topic: str) -> str:
    return await wire.add_or_verify(identity, version, topic, 1, verify_only=True)


async def add_offsets(wire: TransactionWire, identity: Identity, version: int, topic: str) -> str:
    return await wire.add_offsets(identity, version, f"{topic}-group")


async def commit_offset(wire: TransactionWire, identity: Identity, version: int, topic: str) -> str:
    return await wire.commit_offset(identity, version, f"{topic}-group", topic, 1)


async def commit_offset_of_a_member(wire: TransactionWire, identity: Identity, version: int, topic: str) -> str:
    return await wire.commit_offset(identity, version, f"{topic}-group", topic, 1, generation=3, member_id="nobody")


async def produce(wire: TransactionWire, identity: Identity, version: int, topic: str) -> str:
    return await wire.produce(identity, version, topic, 1, 0)


async def produce_more(wire: TransactionWire, identity: Identity, version: int, topic: str) -> str:
    """To the partition that the transaction has already, where there is one."""
    return await wire.produce(identity, version, topic, 0, 1)


async def produce_plainly(wire: TransactionWire, identity: Identity, version: int, topic: str) -> str:
    """An idempotent batch, of no transaction, by the same producer."""
    return await wire.produce(identity, version, topic, 0, 1, is_transactional=False)


def end(*, commit: bool) -> Request:
    async def request(wire: TransactionWire, identity: Identity, version: int, topic: str) -> str:
        error, after = await wire.end(identity, version, commit=commit)
        return told(error, identity, after)

    return request


async def init(wire: TransactionWire, identity: Identity, version: int, topic: str) -> str:
    error, after = await wire.init(identity.transactional_id, version)
    return told(error, identity, after)


async def init_again(wire: TransactionWire, identity: Identity, version: int, topic: str) -> str:
    error, after = await wire.init(identity.transactional_id, version, current=identity)
    return told(error, identity, after)


def told(error: str, before: Identity, after: Identity) -> str:
    """The error, or how producer id and epoch changed."""
    if error != "NONE":
        return error
    if before.producer_id == after.producer_id:
        return f"epoch {after.epoch - before.epoch:+}"
    return f"new id, epoch {after.epoch}"


# With the versions that have the request, or that differ.
REQUESTS: dict[str, tuple[Request, Iterable[int]]] = {
    "InitProducerId": (init, range(6)),
    "InitProducerId with id and epoch": (init_again, range(3, 6)),
    "AddPartitionsToTxn": (add_partition, range(6)),
    "AddPartitionsToTxn, verify": (verify_partition, (4, 5)),
    "AddPartitionsToTxn, verify new": (verify_new_partition, (4, 5)),
    "AddOffsetsToTxn": (add_offsets, range(5)),
    "TxnOffsetCommit": (commit_offset, range(6)),
    "TxnOffsetCommit of a member": (commit_offset_of_a_member, (3, 4, 5)),
    "EndTxn commit": (end(commit=True), range(6)),
    "EndTxn abort": (end(commit=False), range(6)),
    "Produce": (produce, (3, 8, 9, 10, 11, 12, 13)),
    "Produce more": (produce_more, (3, 10, 11, 12, 13)),
    "Produce plainly": (produce_plainly, (3, 10, 11, 12, 13)),
}


def in_ranges(answers: dict[int, str]) -> str:
    """`0-2 X, 3-5 Y`."""
    parts = []
    for answer, versions in groupby(answers, key=lambda version: answers[version]):
        group = list(versions)
        parts.append(f"{group[0]}-{group[-1]} {answer}" if len(group) > 1 else f"{group[0]} {answer}")
    return ", ".join(parts)


async def answers_to(wire: TransactionWire, request_name: str, topic: str) -> dict[str, str]:
    """What each state answers to a request, version by version, each with its own id; the topic has two partitions."""
    request, versions = REQUESTS[request_name]
    await wire.start(f"{topic}-first")
    await wire.prepare_group(f"{topic}-group", topic)
    found = {}
    for number, (state, prepare) in enumerate(STATES.items()):
        by_version = {}
        for version in versions:
            transactional_id = f"{topic}-{number}-{version}"
            await wire.prepare_coordinator(transactional_id)
            identity = await prepare(wire, transactional_id, topic)
            by_version[version] = await request(wire, identity, version, topic)
        found[state] = in_ranges(by_version)
    return found
