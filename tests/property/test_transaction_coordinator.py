"""Transactions over a network that delays, repeats and loses, with coordinators that die and instances that fence.

The world: one coordinator whose log is a list, partitions that hold data and markers, and producers of one
transactional id. Every request that was ever sent may be delivered, also again and late. What must hold is that no
transaction is torn, that none is committed but by its own producer's wish, and that a client that was told an outcome
was told the truth.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from ottla.coordinator.transaction.metadata import MAX_EPOCH, ProducerIdentity, TransactionMetadata
from ottla.coordinator.transaction.records import decode_value, encode_value
from ottla.coordinator.transaction.shard import TransactionShard
from ottla.protocol.errors import ApiError

ID = "tx"
TIMEOUT_MS = 1_000
VERSION = 2
PARTITIONS = [("t", index) for index in range(3)]

Transaction = tuple[int, int]


@dataclass
class Instance:
    """A producer as its process sees itself."""

    producer_id: int
    epoch: int
    # The partitions whose first record of the current transaction was acknowledged.
    written: set[tuple[str, int]] = field(default_factory=set)
    # The outcome that it asked for and has no answer to.
    ending: bool | None = None
    is_dead: bool = False


@dataclass(frozen=True)
class End:
    """An EndTxn on the network."""

    instance: int
    producer_id: int
    epoch: int
    is_commit: bool


class Transactions(RuleBasedStateMachine):
    """What one transactional id can go through."""

    ends: Bundle[End] = Bundle("ends")

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.next_producer_id = 100
        self.log: list[bytes] = []
        self.shard = TransactionShard()
        self.instances: list[Instance] = []
        # Partition -> the epoch that its leader knows of each producer id, the transactions with data, and the markers.
        self.epochs: defaultdict[tuple[str, int], dict[int, int]] = defaultdict(dict)
        self.data: defaultdict[Transaction, set[tuple[str, int]]] = defaultdict(set)
        self.outcomes: defaultdict[Transaction, dict[tuple[str, int], bool]] = defaultdict(dict)
        self.asked: dict[Transaction, bool] = {}
        self.told: dict[Transaction, bool] = {}

    def _fresh(self) -> int:
        self.next_producer_id += 1
        return self.next_producer_id

    @initialize(epoch=st.sampled_from([-1, MAX_EPOCH - 2]))
    def begin_in_an_epoch(self, epoch: int) -> None:
        """Most lives are too short to come to the end of the epochs by themselves."""
        if epoch >= 0:
            self.log.append(encode_value(TransactionMetadata(ID, 100, epoch, TIMEOUT_MS), VERSION))
            self.lose_the_coordinator()

    def _write(self, metadata: TransactionMetadata) -> None:
        self.log.append(encode_value(metadata, VERSION))
        self.shard.logged(metadata)

    @property
    def _alive(self) -> list[int]:
        return [number for number, instance in enumerate(self.instances) if not instance.is_dead]

    # Instances

    @rule()
    def start_an_instance(self) -> None:
        self.now_ms += 1
        try:
            following = self.shard.init_producer_id(
                ID,
                timeout_ms=TIMEOUT_MS,
                expected=None,
                fresh_producer_id=self._fresh(),
                transaction_version=VERSION,
                now_ms=self.now_ms,
            )
        except ApiError:
            return
        self._write(following)
        if not following.state.is_prepared:
            self.instances.append(Instance(following.producer_id, following.producer_epoch))

    @precondition(lambda self: self._alive)
    @rule(data=st.data())
    def continue_after_an_error(self, data: st.DataObject) -> None:
        """A producer that does not know how its transaction ended asks to go on (KIP-360); the answer may be lost."""
        instance = self.instances[data.draw(st.sampled_from(self._alive))]
        try:
            following = self.shard.init_producer_id(
                ID,
                timeout_ms=TIMEOUT_MS,
                expected=ProducerIdentity(instance.producer_id, instance.epoch),
                fresh_producer_id=self._fresh(),
                transaction_version=VERSION,
                now_ms=self.now_ms,
            )
        except ApiError:
            return
        self._write(following)
        if not following.state.is_prepared and data.draw(st.booleans()):
            instance.producer_id, instance.epoch = following.producer
            instance.written, instance.ending = set(), None

    @rule()
    def let_the_log_refuse(self) -> None:
        """A decision that does not get into the log leaves no trace."""
        before = self.shard.get(ID)
        if before is None or not before.state.is_at_rest:
            return
        refused = self.shard.init_producer_id(
            ID,
            timeout_ms=TIMEOUT_MS,
            expected=None,
            fresh_producer_id=self._fresh(),
            transaction_version=VERSION,
            now_ms=self.now_ms,
        )
        for end in (True, False):
            try:
                self.shard.end_transaction(
                    ID,
                    producer=before.producer,
                    is_commit=end,
                    client_transaction_version=VERSION,
                    fresh_producer_id=self._fresh(),
                    now_ms=self.now_ms,
                )
            except ApiError:
                continue
            raise AssertionError("two decisions at once")
        self.shard.refused(refused)
        assert self.shard.get(ID) is before

    @invariant()
    def nobody_has_the_epoch_of_markers(self) -> None:
        assert all(instance.epoch < MAX_EPOCH for instance in self.instances)

    @precondition(lambda self: self._alive)
    @rule(data=st.data(), partition=st.sampled_from(PARTITIONS))
    def write_a_record(self, data: st.DataObject, partition: tuple[str, int]) -> None:
        instance = self.instances[data.draw(st.sampled_from(self._alive))]
        if instance.ending is not None:
            return
        try:
            following = self.shard.add_partitions(
                ID,
                producer=ProducerIdentity(instance.producer_id, instance.epoch),
                partitions=frozenset({partition}),
                client_transaction_version=VERSION,
                now_ms=self.now_ms,
            )
        except ApiError:
            return
        if following is not None:
            self._write(following)
        # A partition refuses an epoch that is over.
        if self.epochs[partition].get(instance.producer_id, -1) <= instance.epoch:
            self.epochs[partition][instance.producer_id] = instance.epoch
            self.data[instance.producer_id, instance.epoch].add(partition)
            instance.written.add(partition)

    @precondition(lambda self: self._alive)
    @rule(target=ends, data=st.data(), is_commit=st.booleans())
    def send_an_end(self, data: st.DataObject, is_commit: bool) -> object:
        number = data.draw(st.sampled_from(self._alive))
        instance = self.instances[number]
        if not instance.written:
            return multiple()
        if instance.ending is None:
            instance.ending = self.asked[instance.producer_id, instance.epoch] = is_commit
        return End(number, instance.producer_id, instance.epoch, instance.ending)

    # The network

    @rule(end=ends)
    def deliver_an_end_perhaps_again(self, end: End) -> None:
        self._deliver(end)

    @rule(end=consumes(ends))
    def deliver_an_end_for_the_last_time(self, end: End) -> None:
        self._deliver(end)

    def _deliver(self, end: End) -> None:
        instance = self.instances[end.instance]
        is_awaited = (instance.producer_id, instance.epoch) == (end.producer_id, end.epoch)
        try:
            following = self.shard.end_transaction(
                ID,
                producer=ProducerIdentity(end.producer_id, end.epoch),
                is_commit=end.is_commit,
                client_transaction_version=VERSION,
                fresh_producer_id=self._fresh(),
                now_ms=self.now_ms,
            )
        except ApiError:
            return
        if following is not None:
            self._write(following)
        if not is_awaited:
            return
        known = self.shard.get(ID)
        assert known is not None
        self.told[end.producer_id, end.epoch] = end.is_commit
        after = known.completed(self.now_ms) if known.state.is_prepared else known
        instance.producer_id, instance.epoch = after.producer_id, after.producer_epoch
        instance.written, instance.ending = set(), None

    # The coordinator

    @rule(partition=st.sampled_from(PARTITIONS))
    def write_a_marker(self, partition: tuple[str, int]) -> None:
        for metadata in self.shard.prepared():
            if partition in metadata.partitions:
                self._mark(metadata, partition)

    def _mark(self, metadata: TransactionMetadata, partition: tuple[str, int]) -> None:
        known = self.epochs[partition].get(metadata.producer_id, -1)
        if metadata.producer_epoch < known:
            return
        ended = metadata.producer_id, metadata.producer_epoch - 1
        if partition in self.data[ended]:
            assert self.outcomes[ended].setdefault(partition, metadata.is_commit) == metadata.is_commit
            assert not metadata.is_commit or self.asked.get(ended), f"{ended} is committed and nobody asked for it"
        self.epochs[partition][metadata.producer_id] = metadata.producer_epoch

    @rule()
    def complete(self) -> None:
        for metadata in self.shard.prepared():
            for partition in metadata.partitions:
                self._mark(metadata, partition)
            self._write(self.shard.complete(ID, self.now_ms))

    @rule()
    def lose_the_coordinator(self) -> None:
        self.shard = TransactionShard()
        for value in self.log:
            self.shard.replay(ID, decode_value(ID, value))

    @rule(passed_ms=st.integers(1, 2 * TIMEOUT_MS))
    def let_time_pass(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        for overdue in self.shard.overdue(self.now_ms):
            following = self.shard.abort_overdue(
                overdue, fresh_producer_id=self._fresh(), transaction_version=VERSION, now_ms=self.now_ms
            )
            assert following is not None
            self._write(following)

    @precondition(lambda self: self._alive)
    @rule(data=st.data())
    def kill_an_instance(self, data: st.DataObject) -> None:
        self.instances[data.draw(st.sampled_from(self._alive))].is_dead = True

    # What must hold

    @invariant()
    def no_transaction_is_torn(self) -> None:
        for transaction, by_partition in self.outcomes.items():
            assert len(set(by_partition.values())) <= 1, (transaction, by_partition)

    @invariant()
    def nobody_was_told_a_lie(self) -> None:
        for transaction, is_commit in self.told.items():
            assert all(outcome == is_commit for outcome in self.outcomes[transaction].values()), transaction

    def teardown(self) -> None:
        """In the end everything that was promised has come about."""
        self.lose_the_coordinator()
        self.complete()
        for transaction, is_commit in self.told.items():
            assert self.outcomes[transaction].keys() == self.data[transaction], transaction
            assert set(self.outcomes[transaction].values()) <= {is_commit}


TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(max_examples=400, stateful_step_count=40)
