"""The dispatcher of a node with metrics: the same answers, counted and timed.

It extends the dispatcher, so that a node without `--metrics` pays nothing. A request costs two more reads of the clock
and a few additions to integers, one or two microseconds in all.
"""

from __future__ import annotations

import asyncio
import struct
from collections import Counter
from dataclasses import replace
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from ottla.broker.metrics.topic_traffic import TopicTraffic, is_from_follower
from ottla.broker.requests.dispatch import Answer, Api, Dispatcher, HandlerModule, RunAnswers
from ottla.metrics.latency import Latency
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.response_errors import error_codes
from ottla.protocol.schema import Message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from ottla.broker.host import Host
    from ottla.broker.network.connection import Connection
    from ottla.broker.requests.produce_run import ProduceRun
    from ottla.broker.requests.request_context import RequestContext


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


class MeasuredDispatcher(Dispatcher):
    """Counts requests, errors, times and the traffic of topics."""

    def __init__(self, modules: list[HandlerModule], host: Host) -> None:
        super().__init__(modules, host)
        self.times = {key: RequestTimes(api.versions) for key, api in self.apis.items()}
        # Kafka counts a fetch twice: among all, and by whose it is.
        fetches = self.apis[ApiKey.FETCH].versions if ApiKey.FETCH in self.apis else range(0)
        self.consumer_fetches = RequestTimes(fetches)
        self.follower_fetches = RequestTimes(fetches)
        self._is_from_follower = False
        self._run_began_ns = 0
        # (API key, error code) -> how often.
        self.errors: Counter[tuple[int, int]] = Counter()
        self.traffic = TopicTraffic(self._topic_name)
        # The observers of answers, which return the error codes in them.
        observers: dict[int, Callable[[Any, Any], list[int]]] = {
            ApiKey.PRODUCE: self.traffic.produced,
            ApiKey.FETCH: self.traffic.fetched,
        }
        for key, api in self.apis.items():
            self.apis[key] = replace(api, handle=self._observed(api, observers.get(key, _errors_of)))

    def dispatch(self, connection: Connection, frame: bytearray) -> Answer | asyncio.Future[Answer]:
        started_ns = perf_counter_ns()
        answer = Dispatcher.dispatch(self, connection, frame)
        local_us = (perf_counter_ns() - started_ns) // 1000
        # The dispatcher has read the header, so the frame has one, and its API is served.
        api_key, version = _KEY_AND_VERSION.unpack_from(frame)
        self._observe(self.times[api_key], version, answer, started_ns, local_us)
        if api_key == ApiKey.FETCH:
            whose = self.follower_fetches if self._is_from_follower else self.consumer_fetches
            self._observe(whose, version, answer, started_ns, local_us)
        return answer

    def _serve_run(self, first: bytearray, following: Iterable[bytearray]) -> ProduceRun:
        self._run_began_ns = perf_counter_ns()
        run = Dispatcher._serve_run(self, first, following)
        served = [one.form for one, answer in zip(run.requests, run.answers, strict=True) if answer is not None]
        times = self.times[ApiKey.PRODUCE]
        for form in served:
            times.versions[form.version] += 1
        for part in run.parts:
            if part.appended is not None:
                self.traffic.appended(part.partition.topic, part.batches)
        if served and not run.waiting:
            # One cannot tell them apart: each took its share.
            times.immediate.observe(self._run_us() // len(served), len(served))
        return run

    def _finish_run(self, connection: Connection, api: Api, run: ProduceRun) -> asyncio.Future[RunAnswers]:
        answers = Dispatcher._finish_run(self, connection, api, run)
        self._await(answers, self.times[ApiKey.PRODUCE], self._run_began_ns, self._run_us(), len(run.requests))
        return answers

    def _run_us(self) -> int:
        return (perf_counter_ns() - self._run_began_ns) // 1000

    def _observe(self, times: RequestTimes, version: int, answer: object, started_ns: int, local_us: int) -> None:
        if version in times.versions:
            times.versions[version] += 1
        if isinstance(answer, asyncio.Future):
            self._await(answer, times, started_ns, local_us)
        else:
            times.immediate.observe(local_us)

    def _await(
        self, answer: asyncio.Future[Any], times: RequestTimes, started_ns: int, local_us: int, count: int = 1
    ) -> None:
        times.waiting += count

        def answered(_: asyncio.Future[Any]) -> None:
            total_us = (perf_counter_ns() - started_ns) // 1000
            times.waiting -= count
            times.deferred_local.observe(local_us // count, count)
            times.deferred_remote.observe(total_us - local_us, count)
            times.deferred_total.observe(total_us, count)

        answer.add_done_callback(answered)

    def _observed(self, api: Api, observe: Callable[[Any, Any], list[int]]) -> Callable[[RequestContext, Any], Any]:
        """The handler of an API, with an observer of its answers."""
        handle, key, errors = api.handle, int(api.key), self.errors

        def observed(context: RequestContext, request: Any) -> Any:
            if key == ApiKey.FETCH:
                self._is_from_follower = is_from_follower(request)
            answer = handle(context, request)
            if answer is None or isinstance(answer, Message):
                for code in observe(request, answer):
                    errors[key, code] += 1
                return answer
            return observed_later(request, answer)

        async def observed_later(request: Any, answer: Awaitable[Any]) -> Any:
            response = await answer
            for code in observe(request, response):
                errors[key, code] += 1
            return response

        return observed

    def _answer_failure(self, api: Api, context: RequestContext, request: Message, error: Exception) -> Message:
        response = super()._answer_failure(api, context, request, error)
        for code in error_codes(response):
            self.errors[api.key, code] += 1
        return response

    def _topic_name(self, called: str | bytes) -> str | None:
        topics = self.services.image.topics
        topic = topics.by_name(called) if isinstance(called, str) else topics.by_id(called)
        return None if topic is None else topic.name


def _errors_of(request: Message, response: Message | None) -> list[int]:
    del request
    return [] if response is None else error_codes(response)
