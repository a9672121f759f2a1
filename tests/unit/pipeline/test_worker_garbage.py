"""Garbage collection in Python workers."""

import gc

from ottla.pipeline.worker_garbage import freeze_imports


def test_what_is_there_is_frozen_once() -> None:
    freeze_imports.cache_clear()
    try:
        freeze_imports()
        frozen = gc.get_freeze_count()
        assert frozen > 10_000
        later: list[list[int]] = [[] for _ in range(100)]
        freeze_imports()
        assert gc.get_freeze_count() <= frozen
        assert len(later) == 100
    finally:
        gc.unfreeze()
