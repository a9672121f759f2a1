"""The dispatcher of a node that is watched: the same answers, counted and timed.

It stands around the dispatcher instead of in it, so that a node without `--metrics` pays nothing. What it adds to a
request is two looks at the clock and a few additions to integers, one or two microseconds in all.
"""

from __future__ import annotations

import asyncio
import struct
from collections import Counter
from dataclasses import replace
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from ottla.broker.dispatch import Answer, Api, Dispatcher, HandlerModule
from ottla.broker.metrics.latency import Latency
from ottla.broker.metrics.response_errors import error_codes
from ottla.broker.metrics.topic_traffic import TopicTraffic
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.fetch_response import FetchResponse
from ottla.protocol.messages.produce_response import ProduceResponse
from ottla.protocol.schema import Message, Records

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ottla.broker.connection import Connection
    from ottla.broker.request_context import RequestContext
    from ottla.protocol.header import RequestHeader
    from ottla.protocol.messages.fetch_request import FetchRequest
    from ottla.protocol.messages.produce_request import ProduceRequest


_KEY_AND_VERSION = struct.Struct(">hh")


class RequestTimes:
    """How long the requests of one API took, and how many there were of each version."""

    __slots__ = ("deferred_local", "deferred_remote", "deferred_total", "immediate", "versions", "waiting")

    def __init__(self, versions: range) -> None:
        self.versions = dict.fromkeys(versions, 0)
        # Most requests are answered at once: for them the local time is all the time, and is kept once.
        self.immediate = Latency()
        self.deferred_local = Latency()
        self.deferred_remote = Latency()
        self.deferred_total = Latency()
        self.waiting = 0


_TRAFFIC = frozenset({ApiKey.PRODUCE, ApiKey.FETCH})


class MeasuredDispatcher(Dispatcher):
    """Counts requests, errors, times and the traffic of topics."""

    def __init__(self, modules: list[HandlerModule]) -> None:
        super().__init__(modules)
        self.times = {key: RequestTimes(api.versions) for key, api in self.apis.items()}
        # (API key, error code) -> how often.
        self.errors: Counter[tuple[int, int]] = Counter()
        self.traffic = TopicTraffic(self._topic_name)
        for key, measured in ((ApiKey.PRODUCE, self._produce), (ApiKey.FETCH, self._fetch)):
            if key in self.apis:
                self.apis[key] = replace(self.apis[key], handle=measured(self.apis[key].handle))

    def dispatch(self, connection: Connection, frame: bytearray) -> Answer | asyncio.Future[Answer]:
        started_ns = perf_counter_ns()
        answer = super().dispatch(connection, frame)
        local_us = (perf_counter_ns() - started_ns) // 1000
        # The dispatcher has read the header, so the frame has one, and its API is served.
        api_key, version = _KEY_AND_VERSION.unpack_from(frame)
        times = self.times[api_key]
        if version in times.versions:
            times.versions[version] += 1
        if isinstance(answer, asyncio.Future):
            self._await(answer, times, started_ns, local_us)
        else:
            times.immediate.observe(local_us)
        return answer

    def _await(self, answer: asyncio.Future[Answer], times: RequestTimes, started_ns: int, local_us: int) -> None:
        times.waiting += 1

        def answered(_: asyncio.Future[Answer]) -> None:
            total_us = (perf_counter_ns() - started_ns) // 1000
            times.waiting -= 1
            times.deferred_local.observe(local_us)
            times.deferred_remote.observe(total_us - local_us)
            times.deferred_total.observe(total_us)

        answer.add_done_callback(answered)

    def _encoded(self, api: Api, header: RequestHeader, response: Message) -> list[Records] | None:
        # Those of produce and fetch were found while their rows were counted.
        if api.key not in _TRAFFIC:
            self._count_errors(api.key, error_codes(response))
        return super()._encoded(api, header, response)

    def _failed(self, api: Api, context: RequestContext, request: Message, error: Exception) -> Message:
        response = super()._failed(api, context, request, error)
        if api.key in _TRAFFIC:
            self._count_errors(api.key, error_codes(response))
        return response

    def _count_errors(self, api_key: int, codes: list[int]) -> None:
        for code in codes:
            self.errors[api_key, code] += 1

    # -- the traffic of topics ----------------------------------------------------------------------------------------

    def _produce(self, handle: Any) -> Any:
        traffic = self.traffic

        async def later(request: ProduceRequest, answer: Awaitable[ProduceResponse | None]) -> ProduceResponse | None:
            response = await answer
            self._count_errors(ApiKey.PRODUCE, traffic.produced(request, response))
            return response

        def measured(context: RequestContext, request: ProduceRequest) -> Any:
            answer = handle(context, request)
            if answer is None or isinstance(answer, ProduceResponse):
                if errors := traffic.produced(request, answer):
                    self._count_errors(ApiKey.PRODUCE, errors)
                return answer
            return later(request, answer)

        return measured

    def _fetch(self, handle: Any) -> Any:
        traffic = self.traffic

        async def later(answer: Awaitable[FetchResponse]) -> FetchResponse:
            response = await answer
            self._count_errors(ApiKey.FETCH, traffic.fetched(response))
            return response

        def measured(context: RequestContext, request: FetchRequest) -> Any:
            answer = handle(context, request)
            if isinstance(answer, FetchResponse):
                if errors := traffic.fetched(answer):
                    self._count_errors(ApiKey.FETCH, errors)
                return answer
            return later(answer)

        return measured

    def _topic_name(self, called: str | bytes) -> str | None:
        topics = self.services.image.topics
        topic = topics.by_name(called) if isinstance(called, str) else topics.by_id(called)
        return None if topic is None else topic.name
