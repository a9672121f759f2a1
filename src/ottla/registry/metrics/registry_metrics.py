"""The page of a registry's metrics: what counts, what gathers, what serves."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from starlette.types import ASGIApp

from ottla.metrics.endpoint import MetricsEndpoint
from ottla.metrics.exposition import Exposition, label_text
from ottla.metrics.latency import cumulative, quantile_us
from ottla.metrics.process_samples import add_process
from ottla.registry.instance import RegistryInstance
from ottla.registry.metrics import catalogue as c
from ottla.registry.metrics.measured_app import MeasuredApp, Recent
from ottla.registry.state import RegistryState
from ottla.schemas.schema import SchemaType


class RegistryMetrics:
    """What `--metrics` adds to a registry."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.endpoint = MetricsEndpoint(*address, self._text)
        self._started_s = time.time()
        self._app: MeasuredApp
        self._instance: RegistryInstance
        self._connection_count: Callable[[], int]
        self._counted = _Counts(RegistryState())

    @property
    def url(self) -> str:
        return self.endpoint.url

    def measure(self, app: ASGIApp) -> ASGIApp:
        """The app, with its requests counted."""
        self._app = MeasuredApp(app)
        return self._app

    async def serve(self, instance: RegistryInstance, connection_count: Callable[[], int]) -> None:
        """Takes scrapers from now on."""
        self._instance = instance
        self._connection_count = connection_count
        await self.endpoint.serve()

    async def _text(self) -> list[bytes]:
        out = Exposition(c.FAMILIES)
        self._add_registry(out)
        self._add_requests(out)
        await add_process(out, self._started_s)
        return list(out.families())

    def _add_registry(self, out: Exposition) -> None:
        instance = self._instance
        # A state never changes: while it is the same, so are its numbers.
        if self._counted.state is not instance.state:
            self._counted = _Counts(instance.state)
        counted = self._counted
        out.add(c.REGISTERED, counted.versions.total())
        out.add(c.DELETED, counted.deleted.total())
        for kind in SchemaType:
            labels = label_text(schema_type=kind.lower())
            out.add(c.REGISTERED_OF_TYPE, counted.versions[kind], labels)
            out.add(c.DELETED_OF_TYPE, counted.deleted[kind], labels)
        out.add(c.SUBJECTS, len(instance.state.versions))
        out.add(c.SKIPPED, instance.topic.damaged_count)
        out.add(c.IS_LEADING, int(instance.is_leading))
        out.add(c.CONNECTIONS, self._connection_count())

    def _add_requests(self, out: Exposition) -> None:
        app, now_s = self._app, time.monotonic()
        out.add(c.API_SUCCESS, app.total.count - app.total.error_count)
        out.add(c.API_FAILURE, app.total.error_count)
        for (endpoint, status), count in app.statuses.items():
            out.add(c.REQUESTS, count, label_text(endpoint=endpoint, status=status))
        _add_times(out, c.ALL_TIMES, app.total.recent(now_s))
        for endpoint, times in app.endpoints.items():
            if endpoint in c.ENDPOINT_TIMES:
                _add_times(out, c.ENDPOINT_TIMES[endpoint], times.recent(now_s))
            for end_s, count in cumulative(times.latency.counts):
                out.add_part(c.REQUEST_DURATION, "_bucket", count, label_text(endpoint=endpoint, le=end_s))
            labels = label_text(endpoint=endpoint)
            out.add_part(c.REQUEST_DURATION, "_bucket", times.count, label_text(endpoint=endpoint, le="+Inf"))
            out.add_part(c.REQUEST_DURATION, "_sum", times.latency.sum_us / 1_000_000, labels)
            out.add_part(c.REQUEST_DURATION, "_count", times.count, labels)


class _Counts:
    """The versions of a state, by format."""

    def __init__(self, state: RegistryState) -> None:
        self.state = state
        self.versions: Counter[SchemaType] = Counter()
        self.deleted: Counter[SchemaType] = Counter()
        for versions in state.versions.values():
            for stored in versions.values():
                self.versions[stored.schema.type] += 1
                self.deleted[stored.schema.type] += stored.is_deleted


def _add_times(out: Exposition, metrics: c.TimeMetrics, recent: Recent) -> None:
    seconds = max(recent.seconds, 1.0)
    out.add(metrics.rate, recent.count / seconds)
    out.add(metrics.error_rate, recent.error_count / seconds)
    out.add(metrics.average_ms, recent.sum_us / recent.count / 1000 if recent.count else float("nan"))
    for metric, share in ((metrics.maximum_ms, 1.0), (metrics.p95_ms, 0.95), (metrics.p99_ms, 0.99)):
        out.add(metric, quantile_us(recent.counts, share) / 1000)
