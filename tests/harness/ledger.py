"""The ledger of a bank: a reader of committed records that takes the sum over all accounts, again and again.

Readers do not see partitions at one moment, so a transfer may show in one before it does in another. But all its parts
were written before its commit was decided, and it shows nowhere before that. So the ledger makes a cut:

1. it notes which transfers show;
2. it asks where every partition ends, whether what is there is committed or not: all parts of what shows lie before;
3. it reads until it is past every one of these ends.

Then all of what showed at the beginning of the cut is known, and its amounts add up to nothing, whatever else was
going on. A part that is missing, or is there twice, or was taken back while another was not, shows in this sum. Cut
follows upon cut for as long as the ledger is open.

In a cluster, step 2 may ask a leader that was frozen, has been replaced, and does not know it yet. It names an end that
is too low, and what lies behind it seems to be missing. So a transfer is torn only if it still is when the brokers have
had time to learn who leads: what is really torn stays so for ever.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from harness.waiting import eventually

AWAY = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}
# The broker is away on purpose, now and then.
ENDURING = {"reconnect.backoff.max.ms": 200, "log_level": 0}
ASKING_TIMEOUT_S = 2.0

Place = tuple[str, int]


class Ledger:
    """Everything that a reader of committed records has seen so far, and whether it balanced at each cut."""

    def __init__(self, bootstrap: str, topics: Iterable[str], partitions: int, *, settling_s: float = 0.0) -> None:
        self._settling_s = settling_s
        self._places: list[Place] = [(topic, partition) for topic in topics for partition in range(partitions)]
        self._bootstrap = bootstrap
        self._admin = self._new_admin()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "ledger",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                **ENDURING,
            }
        )
        self._consumer.assign([TopicPartition(topic, partition, 0) for topic, partition in self._places])
        # Everything before it was delivered.
        self._positions = dict.fromkeys(self._places, 0)
        # Of a transfer: how many parts it has, and the amount in each place that showed.
        self._parts: dict[str, int] = {}
        self._amounts: dict[str, dict[Place, int]] = defaultdict(dict)
        # Transfers that the last cut did not show whole, and when the first cut did not.
        self._torn_since: dict[str, float] = {}
        # What was wrong so far, in words.
        self.problems: list[str] = []
        self._cuts_begun = 0
        self._cuts_done = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def transfers(self) -> set[str]:
        with self._lock:
            return set(self._amounts)

    def check(self) -> int:
        """The next cut that begins must balance, as all before it; how many transfers show."""
        begun = self._cuts_begun
        seen = len(self.transfers())
        eventually(
            lambda: self.problems or (self._cuts_done > begun and not self._torn_since),
            timeout_s=60 + self._settling_s,
        )
        assert not self.problems, self.problems
        return seen

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._consumer.close()

    def _read(self) -> None:
        while not self._stopping.is_set():
            self._cuts_begun += 1
            showing = self.transfers()
            ends = self._ends()
            while not self._is_past(ends) and not self._stopping.is_set():
                for message in self._consumer.consume(500, timeout=0.1):
                    self._enter(message)
            if self._is_past(ends):
                self._balance(showing)
                self._cuts_done = self._cuts_begun

    def _is_past(self, ends: dict[Place, int] | None) -> bool:
        return ends is not None and all(self._positions[place] >= end for place, end in ends.items())

    def _ends(self) -> dict[Place, int] | None:
        """Where each partition ends now, with what is not committed yet; None if the ledger is closed meanwhile."""
        while not self._stopping.is_set():
            asked = self._admin.list_offsets(
                {TopicPartition(*place): OffsetSpec.latest() for place in self._places},
                request_timeout=ASKING_TIMEOUT_S,
            )
            try:
                ends = {(one.topic, one.partition): answer.result().offset for one, answer in asked.items()}
            except KafkaException:
                ends = {}
            # Where the connection broke, librdkafka answers with an offset that is none.
            if ends and min(ends.values()) >= 0:
                return ends
            # The server was away; librdkafka's admin client would go on to name leaders as they were before.
            self._admin = self._new_admin()
        return None

    def _new_admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self._bootstrap, **ENDURING})

    def _complain(self, error: KafkaError) -> None:
        if not error.retriable() and error.code() not in AWAY:
            self.problems.append(str(KafkaException(error)))

    def _enter(self, message: Message) -> None:
        error, value, offset = message.error(), message.value(), message.offset()
        topic, partition = message.topic(), message.partition()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            self._complain(error)
            return
        assert topic is not None
        assert partition is not None
        assert offset is not None
        place = (topic, partition)
        if error is not None:
            self._positions[place] = offset
            return
        assert value is not None
        self._positions[place] = offset + 1
        transfer, parts, amount = value.decode().split(" ")
        with self._lock:
            self._parts[transfer] = int(parts)
            amounts = self._amounts[transfer]
            if place in amounts:
                self.problems.append(f"{transfer} twice in {topic}-{partition}")
            amounts[place] = amounts.get(place, 0) + int(amount)

    def _balance(self, transfers: set[str]) -> None:
        now = time.monotonic()
        torn = {one for one in transfers if self._is_torn(one)}
        self._torn_since = {one: self._torn_since.get(one, now) for one in torn}
        lasting = sorted(one for one, since in self._torn_since.items() if now - since >= self._settling_s)
        if lasting:
            total = sum(amount for one in transfers for amount in self._amounts[one].values())
            self.problems.append(f"the sum over {len(transfers)} transfers is {total}; torn: {lasting}")

    def _is_torn(self, transfer: str) -> bool:
        amounts = self._amounts[transfer]
        return len(amounts) != self._parts[transfer] or sum(amounts.values()) != 0
