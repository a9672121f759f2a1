"""All that can be said against a history.

Each analysis is sound: what it reports, no correct cluster could have shown. It takes the operations one by one or
sorts them, so a history of a million takes seconds.
"""

from ottla.testing.history.anomalies import Anomaly
from ottla.testing.history.committed_offsets import find_committed_offset_anomalies
from ottla.testing.history.copies import find_copy_anomalies
from ottla.testing.history.end_offsets import find_end_offsets_that_went_back
from ottla.testing.history.group_owners import find_second_owners
from ottla.testing.history.history import History
from ottla.testing.history.observed_log import observe
from ottla.testing.history.reads import find_poll_anomalies
from ottla.testing.history.transactions import find_torn_transactions
from ottla.testing.history.writes import find_lost_writes, find_misplaced, find_phantoms, sends_by_value


def check(history: History) -> list[Anomaly]:
    """Every anomaly; a correct cluster leaves none."""
    sends = sends_by_value(history)
    logs = observe(history)
    return [
        *find_lost_writes(history, logs),
        *find_misplaced(history, logs),
        *find_phantoms(history, sends),
        *find_torn_transactions(history, logs),
        *(anomaly for log in logs.values() for anomaly in log.anomalies),
        *find_poll_anomalies(history, logs),
        *find_end_offsets_that_went_back(history),
        *find_committed_offset_anomalies(history),
        *find_second_owners(history),
        *find_copy_anomalies(history),
    ]
