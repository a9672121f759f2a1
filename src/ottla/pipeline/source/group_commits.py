"""`commitGroup`: publishes a stream's progress as the committed offsets of a group, for tools that show lag.

Nothing depends on it: the stream continues from its checkpoint. So a commit that fails is a warning, and a stream does
not wait for one; only one is under way at a time. A failed commit is retried after a while, even if nothing new came.
The group must have no members, or the coordinator refuses.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from ottla.client.errors import ClientError
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.source.cluster_view import ClusterView
from ottla.pipeline.source.offsets import Offsets

logger = logging.getLogger(__name__)

PATIENCE_S = 5.0
AGAIN_AFTER_S = 5.0


class GroupCommits:
    """The commits of one stream to one group."""

    def __init__(self, view: ClusterView, group_id: str, now_s: Callable[[], float] = time.monotonic) -> None:
        self._view = view
        self._group_id = group_id
        self._now_s = now_s
        self._executor: ThreadPoolExecutor | None = None
        self._running: Future[None] | None = None
        self._published: Offsets | None = None
        self._failed_s = float("-inf")

    def publish(self, offsets: Offsets, *, waits: bool) -> None:
        """Commit what is not committed yet; it is called repeatedly, so what must wait now is committed later.

        A query that is about to end waits for it briefly, because its process ends too.
        """
        is_running = self._running is not None and not self._running.done()
        if not offsets or offsets == self._published or is_running:
            return
        if not waits and self._now_s() - self._failed_s < AGAIN_AFTER_S:
            return
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="ottla-commit")
        self._running = self._executor.submit(self._commit, offsets)
        if waits:
            wait([self._running], PATIENCE_S)

    def close(self) -> None:
        """Start no more commits."""
        if self._executor is not None:
            self._executor.shutdown(wait=False)

    def _commit(self, offsets: Offsets) -> None:
        try:
            errors = self._view.commit(self._group_id, offsets)
        except (ClientError, PipelineError) as error:
            self._failed(f"offsets could not be committed: {error}")
            return
        for partition, refusal in errors.items():
            if refusal is not None:
                self._failed(f"{partition} could not be committed: {refusal}")
                return
        self._published = offsets

    def _failed(self, why: str) -> None:
        self._failed_s = self._now_s()
        logger.warning("group %r: %s", self._group_id, why)
