"""The batches of one partition: in order, and each once."""

from ottla.client.errors import ClientError, ConnectionLost, KafkaError, RequestTimedOut
from ottla.client.producer_queue import IN_FLIGHT_MAX, Outcome, PartitionQueue, ProducerBatch
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition

PARTITION = TopicPartition("t", 0)
OUT_OF_ORDER = KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
TOO_LARGE = KafkaError(ErrorCode.MESSAGE_TOO_LARGE)
LOST = ConnectionLost("cut")


class Queue:
    """A queue with batches named by numbers; what became of them is in `outcomes`."""

    def __init__(self, *, is_idempotent: bool = True, linger_s: float = 0.0, is_new: bool = False) -> None:
        self.queue = PartitionQueue[ProducerBatch](PARTITION, is_idempotent=is_idempotent, linger_s=linger_s)
        self.outcomes: dict[int, Outcome] = {}
        self.batches: list[ProducerBatch] = []
        if not is_new:
            self._introduce()

    def _introduce(self) -> None:
        """Most cases begin with a producer that the broker knows, and with sequence 1."""
        self.add()
        self.queue.take(1e9)
        self.acknowledge(0)
        self.batches.clear()
        self.outcomes.clear()

    def add(self, records: int = 1, created_s: float = 0.0) -> ProducerBatch:
        builder = BatchBuilder()
        for _ in range(records):
            builder.append(None, b"v", timestamp_ms=0)
        number = len(self.batches)
        batch = ProducerBatch(PARTITION, builder, created_s, lambda outcome: self.outcomes.update({number: outcome}))
        self.batches.append(batch)
        self.queue.add(batch)
        return batch

    def take(self, now_s: float = 0.0) -> int | None:
        batch = self.queue.take(now_s)
        return None if batch is None else self.batches.index(batch)

    def acknowledge(self, number: int) -> None:
        self.queue.acknowledged(self.batches[number], Outcome(base_offset=number))

    def fail(self, number: int, error: ClientError, now_s: float = 0.0) -> None:
        self.queue.failed(self.batches[number], error, now_s, retry_delay_s=0.0)

    def expire(self, now_s: float) -> None:
        self.queue.expire(now_s, 10.0, lambda batch: RequestTimedOut("too late"))


def test_a_batch_leaves_when_it_is_full_or_has_lingered() -> None:
    queue = Queue(linger_s=5.0)
    queue.add()
    assert queue.take(4.9) is None
    assert queue.queue.ready_at_s() == 5.0
    assert queue.take(5.0) == 0
    queue.add().is_sealed = True
    assert queue.take(0.0) == 1


def test_sequences_count_records() -> None:
    queue = Queue()
    for records in (3, 2, 1):
        queue.add(records)
    assert [queue.take() for _ in range(3)] == [0, 1, 2]
    assert [batch.sequence for batch in queue.batches] == [1, 4, 6]


def test_a_producer_without_idempotence_has_no_sequences() -> None:
    queue = Queue(is_idempotent=False)
    queue.add()
    queue.take()
    assert queue.batches[0].sequence == -1


def test_until_the_broker_knows_the_producer_one_batch_goes_at_a_time() -> None:
    queue = Queue(is_new=True)
    for _ in range(3):
        queue.add()
    assert [queue.take(), queue.take()] == [0, None]
    queue.fail(0, KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    assert [queue.take(), queue.take()] == [0, None]
    queue.acknowledge(0)
    assert [queue.take(), queue.take()] == [1, 2]


def test_at_most_five_are_under_way() -> None:
    queue = Queue()
    for _ in range(IN_FLIGHT_MAX + 1):
        queue.add()
    assert [queue.take() for _ in range(IN_FLIGHT_MAX + 1)] == [0, 1, 2, 3, 4, None]
    queue.acknowledge(0)
    assert queue.take() == 5


def test_after_a_lost_connection_batches_go_again_in_order_one_at_a_time() -> None:
    queue = Queue()
    for _ in range(3):
        queue.add()
    assert [queue.take(), queue.take()] == [0, 1]
    queue.fail(0, LOST)
    queue.fail(1, LOST)
    assert [queue.take(), queue.take()] == [0, None]
    queue.acknowledge(0)
    assert [queue.take(), queue.take()] == [1, None]
    queue.acknowledge(1)
    assert queue.take() == 2
    assert [batch.sequence for batch in queue.batches] == [1, 2, 3]
    assert queue.queue.epoch_bumps == 0


def test_a_retry_waits_for_batches_that_are_still_under_way() -> None:
    queue = Queue()
    queue.add()
    queue.add()
    assert [queue.take(), queue.take()] == [0, 1]
    queue.fail(0, KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert queue.take() is None
    queue.fail(1, OUT_OF_ORDER)
    assert queue.take() == 0
    assert queue.outcomes == {}


def test_a_retry_waits_for_its_back_off() -> None:
    queue = Queue()
    queue.add()
    queue.take()
    queue.queue.failed(queue.batches[0], LOST, 100.0, retry_delay_s=2.0)
    assert queue.take(101.9) is None
    assert queue.queue.ready_at_s() == 102.0
    assert queue.take(102.0) == 0


def test_out_of_order_for_the_batch_that_was_due_is_final() -> None:
    queue = Queue()
    queue.add()
    queue.take()
    queue.fail(0, OUT_OF_ORDER)
    assert queue.outcomes[0].error == OUT_OF_ORDER
    assert queue.queue.epoch_bumps == 1


def test_what_follows_a_refused_batch_goes_on_in_the_next_epoch() -> None:
    queue = Queue()
    for _ in range(4):
        queue.add()
    assert [queue.take() for _ in range(3)] == [0, 1, 2]
    queue.fail(0, TOO_LARGE)
    assert queue.outcomes[0].error == TOO_LARGE
    # Nothing of the new epoch may overtake what is still under way in the old one.
    assert queue.take() is None
    queue.fail(1, OUT_OF_ORDER)
    queue.fail(2, LOST)
    assert queue.queue.epoch_bumps == 1
    for number in (1, 2, 3):
        assert queue.take() == number
        queue.acknowledge(number)
    assert [batch.sequence for batch in queue.batches[1:]] == [0, 1, 2]
    assert [queue.outcomes[number].base_offset for number in (1, 2, 3)] == [1, 2, 3]


def test_a_batch_that_was_never_sent_expires_without_a_gap() -> None:
    queue = Queue()
    queue.add(created_s=0.0)
    queue.add(created_s=5.0)
    queue.expire(9.9)
    assert queue.outcomes == {}
    queue.expire(10.0)
    assert isinstance(queue.outcomes[0].error, RequestTimedOut)
    assert queue.queue.epoch_bumps == 0
    assert queue.take(10.0) == 1


def test_batches_of_unknown_fate_are_not_sent_under_a_new_sequence() -> None:
    queue = Queue()
    queue.add(created_s=0.0)
    queue.add(created_s=5.0)
    queue.add(created_s=5.0)
    assert [queue.take(), queue.take()] == [0, 1]
    queue.fail(0, LOST)
    queue.expire(10.0)
    assert queue.outcomes == {}, "one that was sent after it is still under way"
    queue.fail(1, LOST)
    queue.expire(10.0)
    assert set(queue.outcomes) == {0, 1}
    assert queue.take(10.0) == 2
    assert queue.batches[2].sequence == 0
    assert queue.queue.epoch_bumps == 1


def test_the_end_fails_everything() -> None:
    queue = Queue()
    queue.add()
    queue.add()
    queue.take()
    queue.queue.fail_all(LOST)
    assert [outcome.error for outcome in queue.outcomes.values()] == [LOST, LOST]
    assert queue.queue.is_empty


def test_only_the_last_batch_takes_records() -> None:
    queue = Queue(linger_s=1.0)
    first = queue.add()
    assert queue.queue.open_batch() is first
    second = queue.add()
    assert first.is_sealed
    assert queue.queue.open_batch() is second


def test_a_new_epoch_between_transactions_begins_at_sequence_0() -> None:
    queue = Queue()
    queue.add()
    assert queue.take() == 0
    queue.acknowledge(0)
    queue.queue.restart()
    queue.add()
    assert queue.take() == 1
    assert queue.batches[1].sequence == 0


def test_what_is_left_of_a_transaction_is_dropped_and_not_tried_again() -> None:
    queue = Queue()
    queue.add()
    queue.add()
    assert queue.take() == 0
    queue.queue.fail_waiting(TOO_LARGE)
    queue.queue.gave_up(queue.batches[0], LOST)
    assert {number: outcome.error for number, outcome in queue.outcomes.items()} == {1: TOO_LARGE, 0: LOST}
    assert queue.queue.is_empty


def test_a_batch_has_failed_since_it_was_first_sent() -> None:
    queue = PartitionQueue[ProducerBatch](TopicPartition("t", 0), is_idempotent=True, linger_s=0)
    batch = ProducerBatch(TopicPartition("t", 0), BatchBuilder(), 1.0, lambda _: None)
    batch.builder.append(None, b"x", timestamp_ms=0)
    queue.add(batch)
    assert queue.take(5.0) is batch
    assert queue.failed(batch, RequestTimedOut("no answer"), 35.0, 0.1)
    assert queue.take(36.0) is batch
    assert queue.failed(batch, KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS), 37.0, 0.1)
    assert (batch.failing_since_s, batch.error) == (5.0, KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS))
    assert not queue.in_flight
