"""Samples of what `MeasuredDispatcher` counted: requests, errors, times, traffic."""

from ottla.broker.metrics import catalogue as c
from ottla.broker.metrics.measured_dispatch import MeasuredDispatcher, RequestTimes
from ottla.broker.metrics.topic_traffic import TopicCounts
from ottla.broker.requests.time_slice import TimeSlice
from ottla.metrics.exposition import Exposition, label_text
from ottla.metrics.latency import cumulative, merged, quantile_us
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ErrorCode

# The percentiles that Kafka has, as the JMX exporter writes them.
_QUANTILES = ("0.50", "0.75", "0.95", "0.98", "0.99", "0.999")
_PURGATORIES = {ApiKey.PRODUCE: "Produce", ApiKey.FETCH: "Fetch"}


async def add_requests(out: Exposition, dispatcher: MeasuredDispatcher, time_slice: TimeSlice, now_s: float) -> None:
    """Requests by API, version and error, and their times."""
    all_times = {_name(key): times for key, times in dispatcher.times.items()}
    all_times |= {"FetchConsumer": dispatcher.consumer_fetches, "FetchFollower": dispatcher.follower_fetches}
    for name, times in all_times.items():
        if not any(times.versions.values()):
            continue
        for version, number in times.versions.items():
            if number:
                out.add(c.REQUESTS, number, label_text(request=name, version=version))
        _add_times(out, name, times, now_s)
        out.add(c.REQUESTS_WAITING, times.waiting, label_text(request=name))
        await time_slice.pause_if_used()
    for key, times in dispatcher.times.items():
        if key in _PURGATORIES:
            labels = label_text(delayedOperation=_PURGATORIES[ApiKey(key)])
            out.add(c.PURGATORY, times.waiting, labels)
            out.add(c.DELAYED, times.waiting, labels)
    for (key, code), number in dispatcher.errors.items():
        out.add(c.ERRORS, number, label_text(request=_name(key), error=ErrorCode(code).name))


def _name(key: int) -> str:
    """Kafka's name for the requests of an API, as in `OffsetCommit`."""
    return "".join(word.capitalize() for word in ApiKey(key).name.split("_"))


def _add_times(out: Exposition, name: str, times: RequestTimes, now_s: float) -> None:
    immediate = times.immediate.recent(now_s)
    immediate_us = times.immediate.sum_us
    # What was answered at once did not wait.
    unwaited = [sum(immediate), *[0] * (len(immediate) - 1)]
    total = merged(times.immediate.counts, times.deferred_total.counts)
    count = sum(total)
    labels = label_text(request=name)
    for metric, deferred, recent, sum_us in (
        (c.TOTAL_TIME, times.deferred_total, immediate, immediate_us),
        (c.LOCAL_TIME, times.deferred_local, immediate, immediate_us),
        (c.REMOTE_TIME, times.deferred_remote, unwaited, 0),
    ):
        counts = merged(deferred.recent(now_s), recent)
        for share in _QUANTILES:
            value_ms = quantile_us(counts, float(share)) / 1000
            out.add(metric, value_ms, label_text(request=name, quantile=share))
        out.add_part(metric, "_sum", (deferred.sum_us + sum_us) / 1000, labels)
        out.add_part(metric, "_count", count, labels)
    for end_s, number in cumulative(total):
        out.add_part(c.REQUEST_DURATION, "_bucket", number, label_text(request=name, le=end_s))
    out.add_part(c.REQUEST_DURATION, "_bucket", count, label_text(request=name, le="+Inf"))
    out.add_part(c.REQUEST_DURATION, "_sum", (immediate_us + times.deferred_total.sum_us) / 1_000_000, labels)
    out.add_part(c.REQUEST_DURATION, "_count", count, labels)


async def add_traffic(out: Exposition, dispatcher: MeasuredDispatcher, time_slice: TimeSlice) -> None:
    """Records and bytes, of all topics (without a label) and of each."""
    dispatcher.traffic.forget_all_but(frozenset(dispatcher.services.image.topics.names()))
    _add_counts(out, dispatcher.traffic.total(), "")
    out.add(c.REPLICATION_OUT, dispatcher.traffic.replication_bytes_out)
    for name, counts in list(dispatcher.traffic.topics.items()):
        _add_counts(out, counts, label_text(topic=name))
        await time_slice.pause_if_used()


def _add_counts(out: Exposition, counts: TopicCounts, labels: str) -> None:
    out.add(c.MESSAGES_IN, counts.messages_in, labels)
    out.add(c.BYTES_IN, counts.bytes_in, labels)
    out.add(c.BYTES_OUT, counts.bytes_out, labels)
    out.add(c.BYTES_REJECTED, counts.bytes_rejected, labels)
    out.add(c.TOTAL_PRODUCE, counts.produces, labels)
    out.add(c.TOTAL_FETCH, counts.fetches, labels)
    out.add(c.FAILED_PRODUCE, counts.failed_produces, labels)
    out.add(c.FAILED_FETCH, counts.failed_fetches, labels)
