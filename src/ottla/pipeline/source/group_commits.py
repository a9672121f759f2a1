"""`commitGroup`: a stream's progress as the committed offsets of a group, for tools that show lag.

Nobody depends on it: the stream goes on from its checkpoint. So a commit that fails is a warning, and one that takes
long is left to itself; the next batch commits again. The group must have no members, or the coordinator refuses.
"""

import logging
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError

from ottla.client.errors import ClientError
from ottla.client.metadata import TopicPartition
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.source.cluster_view import ClusterView

logger = logging.getLogger(__name__)

PATIENCE_S = 5.0


class GroupCommits:
    """The commits of one stream to one group."""

    def __init__(self, view: ClusterView, group_id: str) -> None:
        self._view = view
        self._group_id = group_id
        self._executor: ThreadPoolExecutor | None = None
        self._running: Future[None] | None = None

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit, unless an earlier one still runs."""
        if self._running is not None and not self._running.done():
            return
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, thread_name_prefix="ottla-commit")
        self._running = self._executor.submit(self._commit, dict(offsets))
        try:
            self._running.result(PATIENCE_S)
        except FutureTimeoutError:
            logger.warning("group %r: the commit of offsets takes long; the query does not wait for it", self._group_id)

    def close(self) -> None:
        """Begin no more commits."""
        if self._executor is not None:
            self._executor.shutdown(wait=False)

    def _commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        try:
            errors = self._view.commit(self._group_id, offsets) if offsets else {}
        except (ClientError, PipelineError) as error:
            logger.warning("group %r: offsets could not be committed: %s", self._group_id, error)
            return
        for partition, refusal in errors.items():
            if refusal is not None:
                logger.warning("group %r: %s could not be committed: %s", self._group_id, partition, refusal)
                break
