"""Cuts large requests into small pieces, so that one client's hundred thousand rows do not block everybody else.

A request that names many things is answered row by row, and no row depends on another: several requests, one after the
other, would get the same rows. So a request with more rows than its rule allows at once is cut into smaller requests of
the same kind. Between two of them the event loop serves other clients; the answers are joined into the one that the
client expects.

Guarantees: the rows keep their order, and a connection still has one request at a time. Each piece is handled without a
pause, like any request of its size. A large request loses only what its client could not rely on anyway: its rows are
not of one moment in time, and a repeated name is noticed only within a piece. Where one name stands for thousands of
rows, a repeated name is answered once: otherwise a request of a megabyte could ask for an answer of a hundred
gigabytes.

A piece takes about SLICE_SECONDS: its size follows from the time of the previous piece. Only one piece runs in each
turn of the loop, however many large requests there are.

Not cut are requests whose rows depend on each other, like those of Fetch, whose limits hold for all its partitions, and
requests for everything there is; their handlers pause by themselves, with a `TimeSlice`. Neither are requests that a
group decides as a whole: OffsetCommit is bounded by the batch that it becomes.
"""

from __future__ import annotations

import asyncio
import copy
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ottla.broker.requests.time_slice import SLICE_SECONDS
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.schema import Message

_ROWS_MAX = 2_000


@dataclass(frozen=True, slots=True)
class SliceRule:
    """Where the rows of an API are, from the outer array to the inner one, and how many are handled at once."""

    request: tuple[str, ...]
    response: tuple[str, ...]
    rows_at_once: int = 100
    # Smaller requests hold too few rows to be worth counting.
    frame_bytes_min: int = 1_000
    # The fields that name an outer element, if a repeated one is answered once.
    name: tuple[str, ...] = ()


_PARTITIONS = ("topics", "partitions")
# Each row describes hundreds of configs.
_CONFIGS = SliceRule(("resources",), ("results",), 1, 0, name=("resource_type", "resource_name", "configuration_keys"))

SLICE_RULES: dict[int, tuple[SliceRule, ...]] = {
    ApiKey.PRODUCE: (SliceRule(("topic_data", "partition_data"), ("responses", "partition_responses"), 500, 8_000),),
    ApiKey.LIST_OFFSETS: (SliceRule(_PARTITIONS, _PARTITIONS),),
    ApiKey.METADATA: (SliceRule(("topics",), ("topics",), 20, 100, name=("name", "topic_id")),),
    ApiKey.OFFSET_FETCH: (
        SliceRule(
            ("groups", "topics", "partition_indexes"), ("groups", "topics", "partitions"), 500, name=("group_id",)
        ),
        SliceRule(("topics", "partition_indexes"), _PARTITIONS, rows_at_once=500),
    ),
    ApiKey.FIND_COORDINATOR: (SliceRule(("coordinator_keys",), ("coordinators",)),),
    ApiKey.DESCRIBE_GROUPS: (SliceRule(("groups",), ("groups",), 20, 100, name=("",)),),
    # The controller decides these in a turn of its own, so the time that they took is unknown here.
    ApiKey.DELETE_TOPICS: (
        SliceRule(("topics",), ("responses",), rows_at_once=200),
        SliceRule(("topic_names",), ("responses",), rows_at_once=200),
    ),
    ApiKey.DELETE_GROUPS: (SliceRule(("groups_names",), ("results",)),),
    ApiKey.OFFSET_DELETE: (SliceRule(_PARTITIONS, _PARTITIONS, rows_at_once=500),),
    ApiKey.CREATE_PARTITIONS: (SliceRule(("topics",), ("results",)),),
    ApiKey.ALTER_CONFIGS: (SliceRule(("resources",), ("responses",)),),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (SliceRule(("resources",), ("responses",)),),
    ApiKey.DELETE_RECORDS: (SliceRule(_PARTITIONS, _PARTITIONS),),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (SliceRule(_PARTITIONS, _PARTITIONS),),
    ApiKey.DESCRIBE_CONFIGS: (_CONFIGS,),
    ApiKey.DESCRIBE_TRANSACTIONS: (SliceRule(("transactional_ids",), ("transaction_states",), 20, 100, name=("",)),),
    ApiKey.DESCRIBE_PRODUCERS: (SliceRule(("topics", "partition_indexes"), _PARTITIONS),),
}


def slice_above_bytes(api_key: int) -> int:
    """The size up to which no request of an API is cut."""
    rules = SLICE_RULES.get(api_key)
    return sys.maxsize if rules is None else min(rule.frame_bytes_min for rule in rules)


def rule_for(api_key: int, request: Message, frame_bytes: int) -> SliceRule | None:
    """How to cut this request; None if it is small enough, or of a kind that is not cut."""
    for rule in SLICE_RULES.get(api_key, ()):
        if frame_bytes > rule.frame_bytes_min and _row_count(request, rule.request) > rule.rows_at_once:
            return rule
    return None


async def answer_in_slices(
    request: Message,
    rule: SliceRule,
    answer: Callable[[Message], Any],
    turn: asyncio.Lock,
    monotonic_s: Callable[[], float],
) -> Message | None:
    """The answer to the whole request; `answer` returns the answer to a piece, an awaitable of it, or None."""
    merged: Message | None = None
    leaves = _leaves(_distinct(request, rule), rule.request)
    last: tuple[Any, ...] = ()
    count = rule.rows_at_once
    while taken := list(islice(leaves, count)):
        async with turn:
            began = monotonic_s()
            result = answer(_piece(request, rule.request, taken))
            took = monotonic_s() - began
            # The next piece, of this request or another, begins in the next turn of the loop.
            await asyncio.sleep(0)
        if isinstance(result, Awaitable):
            result = await result
        else:
            count = max(1, min(int(count * SLICE_SECONDS / max(took, 1e-6)), 2 * count, _ROWS_MAX))
        if result is not None:
            if merged is None:
                merged = result
            else:
                _join(merged, result, rule.response, _shared_depth(last, taken[0]))
        last = taken[-1]
    return merged


def _row_count(message: Message, path: tuple[str, ...]) -> int:
    """The number of rows; an outer element without rows counts as one."""
    elements = getattr(message, path[0]) or ()
    if len(path) == 1:
        return len(elements)
    return sum(max(_row_count(element, path[1:]), 1) for element in elements)


def _distinct(request: Message, rule: SliceRule) -> Message:
    """The request without outer elements that repeat the name of an earlier one."""
    if not rule.name:
        return request
    by_name: dict[Any, Any] = {}
    for element in getattr(request, rule.request[0]):
        by_name.setdefault(_name_of(element, rule.name), element)
    distinct = copy.copy(request)
    setattr(distinct, rule.request[0], list(by_name.values()))
    return distinct


def _name_of(element: Any, fields: tuple[str, ...]) -> Any:
    if not isinstance(element, Message):
        return element
    values = (getattr(element, field) for field in fields)
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


_NO_ROW = object()


def _leaves(message: Message, path: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    """Each row, preceded by the elements that contain it; `_NO_ROW` where an element has none."""
    elements = getattr(message, path[0]) or ()
    if len(path) == 1:
        for element in elements:
            yield (element,)
        return
    for element in elements:
        is_empty = True
        for leaf in _leaves(element, path[1:]):
            is_empty = False
            yield (element, *leaf)
        if is_empty:
            yield (element, *[_NO_ROW] * (len(path) - 1))


def _piece(message: Message, path: tuple[str, ...], leaves: list[tuple[Any, ...]]) -> Message:
    """The message with only these rows."""
    piece = copy.copy(message)
    if getattr(message, path[0]) is None:
        return piece  # Null has a meaning of its own.
    elements: list[Any] = []
    if len(path) == 1:
        elements = [leaf[0] for leaf in leaves if leaf[0] is not _NO_ROW]
    else:
        start = 0
        while start < len(leaves):
            element = leaves[start][0]
            if element is _NO_ROW:
                break
            end = start
            while end < len(leaves) and leaves[end][0] is element:
                end += 1
            elements.append(_piece(element, path[1:], [leaf[1:] for leaf in leaves[start:end]]))
            start = end
    setattr(piece, path[0], elements)
    return piece


def _shared_depth(last: tuple[Any, ...], first: tuple[Any, ...]) -> int:
    """How many elements, from the outermost, contain both the last row of a piece and the first of the next."""
    depth = 0
    while depth < len(first) - 1 and last[depth] is first[depth]:
        depth += 1
    return depth


def _join(merged: Message, further: Message, path: tuple[str, ...], depth: int) -> None:
    """Appends the rows of the next piece; the first of its elements may continue the last one, `depth` levels down."""
    if code := getattr(further, "error_code", 0):
        # Such an answer has no rows, and a client that gets an error reads none.
        merged.error_code = code  # type: ignore[attr-defined]
    rows = getattr(merged, path[0])
    if not isinstance(rows, list):
        rows = list(rows or ())
        setattr(merged, path[0], rows)
    added = getattr(further, path[0]) or ()
    if depth and rows and added:
        _join(rows[-1], added[0], path[1:], depth - 1)
        added = added[1:]
    rows.extend(added)
