"""What a broker's cleaners do with their logs, step by step and in this very thread."""

from ottla.protocol.topic_partition import TopicPartition
from ottla.storage.compaction import Cleanable, is_due, survey
from ottla.storage.log import Log
from ottla.storage.log_cleaning import LeftOut, Outcome
from ottla.storage.log_manager import LogManager


def due(log: Log, first_dirty_offset: int, now_ms: int) -> Cleanable | None:
    """What a pass over a log would find; None if it is not worth its while."""
    cleanable = survey(log, first_dirty_offset, now_ms)
    return cleanable if is_due(cleanable, log.config) else None


def clean_next(manager: LogManager, now_ms: int) -> TopicPartition | None:
    """A round up to the first log that is compacted; which one that was, None if none was."""
    cleaning = manager.cleaning
    left_out = LeftOut()
    while True:
        found = [one for directory in manager.online_directories for one in cleaning.candidates(directory, now_ms)]
        chosen = cleaning.choose(found, left_out)
        if chosen is None:
            return None
        outcome = cleaning.clean(chosen, now_ms)
        if outcome is Outcome.CLEANED:
            return chosen.key
        left_out.note(chosen, outcome)
