"""What clients did and were told, and whether a correct cluster could have told them so.

A test lets its clients write down what they do (`Recorder`), reads every partition at the end, and asks `check` for
anomalies. Nothing here reads a clock or reaches a cluster, so a history can come from a simulator or from real clients.

The analyses are those of Jepsen's workload for Kafka: every value is unique, so each observation names its write.
"""

from ottla.testing.history.anomalies import Anomaly, AnomalyKind
from ottla.testing.history.checker import check
from ottla.testing.history.final_log import DURABLE, FinalCopy, FinalLog, FinalRecord, Promise, RecordState
from ottla.testing.history.history import History
from ottla.testing.history.operations import Outcome, ProducerKind, TransactionResult, Value
from ottla.testing.history.recorder import Recorder

__all__ = [
    "DURABLE",
    "Anomaly",
    "AnomalyKind",
    "FinalCopy",
    "FinalLog",
    "FinalRecord",
    "History",
    "Outcome",
    "ProducerKind",
    "Promise",
    "RecordState",
    "Recorder",
    "TransactionResult",
    "Value",
    "check",
]
