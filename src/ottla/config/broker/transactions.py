"""Transactions and idempotent producers."""

from typing import Final

from ottla.config.definition import ConfigKey, Importance, UpdateMode
from ottla.config.validators import Range
from ottla.config.values import ConfigType

KEYS: Final[tuple[ConfigKey, ...]] = (
    ConfigKey(
        "transaction.state.log.min.isr",
        ConfigType.INT,
        2,
        Importance.HIGH,
        "In-sync replicas that the transaction topic needs for a write.",
        validator=Range(1),
    ),
    ConfigKey(
        "transaction.state.log.load.buffer.size",
        ConfigType.INT,
        5_242_880,
        Importance.HIGH,
        "Bytes read at once when transaction state is loaded, or one batch if that is larger.",
        validator=Range(1),
    ),
    ConfigKey(
        "transaction.state.log.replication.factor",
        ConfigType.SHORT,
        3,
        Importance.HIGH,
        "Replicas of the transaction topic when it is created.",
        validator=Range(1),
    ),
    ConfigKey(
        "transaction.state.log.num.partitions",
        ConfigType.INT,
        50,
        Importance.HIGH,
        "Partitions of the transaction topic when it is created; never change it later.",
        validator=Range(1),
    ),
    ConfigKey(
        "transaction.state.log.segment.bytes",
        ConfigType.INT,
        104_857_600,
        Importance.HIGH,
        "Segment size of the transaction topic when it is created.",
        validator=Range(1),
    ),
    ConfigKey(
        "transaction.partition.verification.enable",
        ConfigType.BOOLEAN,
        True,
        Importance.LOW,
        "Whether a broker checks that a partition belongs to the transaction before it takes records for it. "
        "Not acted on yet.",
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "producer.id.expiration.ms",
        ConfigType.INT,
        86_400_000,
        Importance.LOW,
        "Time after which an idle producer's sequence numbers are forgotten by a partition.",
        validator=Range(1),
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "producer.id.expiration.check.interval.ms",
        ConfigType.INT,
        600_000,
        Importance.LOW,
        "Pause between two looks for producers to forget.",
        validator=Range(1),
        internal=True,
    ),
    ConfigKey(
        "transactional.id.expiration.ms",
        ConfigType.INT,
        604_800_000,
        Importance.HIGH,
        "Time after which an idle transactional id is forgotten.",
        validator=Range(1),
    ),
    ConfigKey(
        "transaction.max.timeout.ms",
        ConfigType.INT,
        900_000,
        Importance.HIGH,
        "Longest transaction timeout that a producer may ask for.",
        validator=Range(1),
    ),
    ConfigKey(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        ConfigType.INT,
        10_000,
        Importance.LOW,
        "Pause between two looks for transactions that ran over their time.",
        validator=Range(1),
    ),
    ConfigKey(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        ConfigType.INT,
        3_600_000,
        Importance.LOW,
        "Pause between two looks for transactional ids to forget.",
        validator=Range(1),
    ),
    ConfigKey(
        "transaction.two.phase.commit.enable",
        ConfigType.BOOLEAN,
        False,
        Importance.LOW,
        "Whether transactions may take part in a two-phase commit led from outside. Not acted on yet.",
    ),
    ConfigKey(
        "add.partitions.to.txn.retry.backoff.max.ms",
        ConfigType.INT,
        100,
        Importance.HIGH,
        "Longest time that the broker retries to add partitions to a transaction before the client has to.",
        validator=Range(0),
    ),
    ConfigKey(
        "add.partitions.to.txn.retry.backoff.ms",
        ConfigType.INT,
        20,
        Importance.HIGH,
        "Pause between such retries.",
        validator=Range(1),
    ),
)
