import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import pytest
from immutables import Map

from harness.waiting import eventually_async
from harness.watched_tasks import WatchedTasks
from ottla.broker.coordinators.transactions import markers
from ottla.broker.coordinators.transactions.markers import MarkerWriter, TransactionSuperseded
from ottla.coordinator.transaction.metadata import TransactionMetadata
from ottla.coordinator.transaction.states import TransactionState
from ottla.metadata.image import NO_LEADER, ClusterImage, TopicImage
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest
from ottla.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse
from unit.broker.coordinators.groups.fakes import NODE_ID, TOPIC_ID, image_with, partition_state
from unit.broker.coordinators.transactions.fakes import COORDINATOR_EPOCH, MarkerChannel

pytestmark = pytest.mark.timeout(60)

OTHER, THIRD = 8, 9


def ending(*partitions: tuple[str, int], name: str = "tx", producer_id: int = 7) -> TransactionMetadata:
    return TransactionMetadata(name, producer_id, 4, 60_000, TransactionState.PREPARE_COMMIT, frozenset(partitions))


def led_by(leaders: Mapping[int, int]) -> ClusterImage:
    """Topic `t`, with the leader of each of its partitions."""
    topic = TopicImage("t", TOPIC_ID, Map({index: partition_state(leader) for index, leader in leaders.items()}))
    image = image_with()
    return replace(image, topics=image.topics.with_topic(topic))


class Broker:
    """A writer whose image and channel a test decides on."""

    def __init__(self, image: ClusterImage) -> None:
        self.image = image
        self.channel = MarkerChannel()
        self.tasks = WatchedTasks()
        self.writer = MarkerWriter(NODE_ID, self.channel, lambda: self.image, self.tasks)

    def write(self, metadata: TransactionMetadata) -> asyncio.Task[None]:
        return self.tasks.start(self.writer.write(metadata, COORDINATOR_EPOCH))

    async def asked(self, count: int) -> None:
        """Until so many requests went out."""

        async def look() -> int:
            return len(self.channel.requests)

        await eventually_async(look, lambda found: found >= count)


def run(image: ClusterImage, scenario: Callable[[Broker], Awaitable[None]]) -> None:
    async def play() -> None:
        broker = Broker(image)
        try:
            await scenario(broker)
        finally:
            await broker.tasks.cancel_all()

    asyncio.run(play())


def write(metadata: TransactionMetadata, answer: Callable[[str, int], ErrorCode]) -> MarkerChannel:
    async def scenario(broker: Broker) -> None:
        broker.channel.answer = answer
        channels.append(broker.channel)
        await broker.write(metadata)

    channels: list[MarkerChannel] = []
    run(image_with(), scenario)
    return channels[0]


def producers(request: WriteTxnMarkersRequest) -> list[int]:
    return [marker.producer_id for marker in request.markers]


def test_partitions_that_fail_are_tried_again_and_no_others() -> None:
    failures = iter([ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR])

    def answer(_topic: str, index: int) -> ErrorCode:
        return next(failures, ErrorCode.NONE) if index == 1 else ErrorCode.NONE

    channel = write(ending(("t", 0), ("t", 1)), answer)
    asked = [list(request.markers[0].topics[0].partition_indexes) for request in channel.requests]
    assert asked == [[0, 1], [1], [1]]


def test_a_topic_that_is_gone_needs_no_marker() -> None:
    channel = write(ending(("t", 0), ("gone", 3), ("t", 9)), lambda _topic, _index: ErrorCode.NONE)
    assert channel.markers == [("t", 0, 4, True)]


@pytest.mark.parametrize("code", [ErrorCode.UNSUPPORTED_VERSION, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT])
def test_a_partition_where_no_transaction_can_be_open_needs_no_marker(code: ErrorCode) -> None:
    channel = write(ending(("t", 0)), lambda _topic, _index: code)
    assert len(channel.requests) == 1


@pytest.mark.parametrize("code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED])
def test_a_partition_that_knows_a_later_epoch_ends_the_markers_of_the_whole_transaction(code: ErrorCode) -> None:
    """As Kafka does. The other partition would be asked again and again."""
    codes = [code, ErrorCode.NOT_ENOUGH_REPLICAS]
    with pytest.raises(TransactionSuperseded, match=code.name):
        write(ending(("t", 0), ("t", 1)), lambda _topic, index: codes[index])


def test_each_broker_gets_the_markers_of_the_partitions_that_it_leads() -> None:
    async def scenario(broker: Broker) -> None:
        await broker.write(ending(("t", 0), ("t", 1), ("t", 2)))
        asked = {
            broker_id: list(request.markers[0].topics[0].partition_indexes)
            for broker_id, request in zip(broker.channel.asked, broker.channel.requests, strict=True)
        }
        assert asked == {NODE_ID: [0], OTHER: [1, 2]}
        assert {request.markers[0].coordinator_epoch for request in broker.channel.requests} == {COORDINATOR_EPOCH}

    run(led_by({0: NODE_ID, 1: OTHER, 2: OTHER}), scenario)


def test_what_gathers_while_a_broker_is_asked_goes_out_in_one_request() -> None:
    async def scenario(broker: Broker) -> None:
        broker.channel.is_open.clear()
        tasks = [broker.write(ending(("t", 0), name="first", producer_id=1))]
        await broker.asked(1)
        tasks += [broker.write(ending(("t", 0), name=f"tx-{number}", producer_id=number)) for number in (2, 3, 4)]
        await asyncio.sleep(0)
        broker.channel.is_open.set()
        await asyncio.gather(*tasks)
        assert [producers(request) for request in broker.channel.requests] == [[1], [2, 3, 4]]

    run(led_by({0: OTHER}), scenario)


def test_a_request_takes_only_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(broker: Broker) -> None:
        tasks = [
            broker.write(ending(("t", 0), ("t", 1), name=f"tx-{number}", producer_id=number)) for number in (1, 2, 3)
        ]
        await asyncio.gather(*tasks)
        assert [producers(request) for request in broker.channel.requests] == [[1, 2], [3]]

    monkeypatch.setattr(markers, "PARTITIONS_PER_REQUEST_MAX", 3)
    run(led_by({0: OTHER, 1: OTHER}), scenario)


def test_no_broker_waits_for_another() -> None:
    async def scenario(broker: Broker) -> None:
        silent = asyncio.Event()
        ask = broker.channel.write_markers

        async def ask_unless_silent(broker_id: int, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
            if broker_id == OTHER:
                await silent.wait()
            return await ask(broker_id, request)

        broker.channel.write_markers = ask_unless_silent  # type: ignore[method-assign]
        slow = broker.write(ending(("t", 0), ("t", 1), name="slow", producer_id=1))
        await broker.write(ending(("t", 1), name="quick", producer_id=2))
        assert not slow.done()
        silent.set()
        await slow

    run(led_by({0: OTHER, 1: THIRD}), scenario)


def test_a_marker_that_a_dead_broker_did_not_take_goes_to_the_next_leader() -> None:
    async def scenario(broker: Broker) -> None:
        broker.channel.dead.add(OTHER)
        written = broker.write(ending(("t", 0)))
        await broker.asked(2)
        broker.image = led_by({0: THIRD})
        await written
        assert broker.channel.asked[-1] == THIRD
        assert set(broker.channel.asked[:-1]) == {OTHER}
        assert broker.channel.markers == [("t", 0, 4, True)]

    run(led_by({0: OTHER}), scenario)


def test_a_partition_without_a_leader_gets_its_marker_when_it_has_one() -> None:
    async def scenario(broker: Broker) -> None:
        written = broker.write(ending(("t", 0), ("t", 1)))
        await broker.asked(1)
        broker.image = led_by({0: OTHER, 1: NODE_ID})
        await written
        assert broker.channel.asked == [NODE_ID, OTHER]

    run(led_by({0: NO_LEADER, 1: NODE_ID}), scenario)


def test_a_topic_that_is_deleted_while_its_broker_is_dead_needs_no_marker() -> None:
    async def scenario(broker: Broker) -> None:
        broker.channel.dead.add(OTHER)
        written = broker.write(ending(("t", 0)))
        await broker.asked(1)
        broker.image = ClusterImage()
        await written
        assert broker.channel.markers == []

    run(led_by({0: OTHER}), scenario)


def test_a_coordinator_that_resigns_sends_no_more_markers() -> None:
    async def scenario(broker: Broker) -> None:
        broker.channel.is_open.clear()
        first = broker.write(ending(("t", 0), name="first", producer_id=1))
        await broker.asked(1)
        resigned = broker.write(ending(("t", 0), name="resigned", producer_id=2))
        kept = broker.write(ending(("t", 0), name="kept", producer_id=3))
        await asyncio.sleep(0)
        resigned.cancel()
        await asyncio.gather(resigned, return_exceptions=True)
        broker.channel.is_open.set()
        await asyncio.gather(first, kept)
        assert [producers(request) for request in broker.channel.requests] == [[1], [3]]

    run(led_by({0: OTHER}), scenario)


def test_one_fenced_transaction_does_not_stop_others_in_its_request() -> None:
    async def scenario(broker: Broker) -> None:
        fenced = ErrorCode.TRANSACTION_COORDINATOR_FENCED
        broker.channel.answer = lambda _topic, index: fenced if index == 0 else ErrorCode.NONE
        broker.channel.is_open.clear()
        first = broker.write(ending(("t", 1), name="first", producer_id=1))
        await broker.asked(1)
        second = broker.write(ending(("t", 0), ("t", 1), name="fenced", producer_id=2))
        third = broker.write(ending(("t", 1), name="third", producer_id=3))
        await asyncio.sleep(0)
        broker.channel.is_open.set()
        with pytest.raises(TransactionSuperseded):
            await second
        await asyncio.gather(first, third)

    run(led_by({0: OTHER, 1: OTHER}), scenario)


def test_a_partition_that_an_answer_leaves_out_is_asked_again() -> None:
    async def scenario(broker: Broker) -> None:
        ask = broker.channel.write_markers

        async def forget_once(broker_id: int, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
            answer = await ask(broker_id, request)
            return WriteTxnMarkersResponse() if len(broker.channel.requests) == 1 else answer

        broker.channel.write_markers = forget_once  # type: ignore[method-assign]
        await broker.write(ending(("t", 0)))
        assert len(broker.channel.requests) == 2

    run(led_by({0: OTHER}), scenario)
