"""How a broker begins and ends, over the wire."""

from pathlib import Path

import pytest

from harness.running_node import RunningNode, batch_of, run_node
from ottla.broker import lifecycle
from ottla.broker.controller.controller import Controller, RequestOrigin
from ottla.broker.lifecycle import BrokerLifecycle, BrokerRefused
from ottla.broker.node import StartupError
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.schema import Message


class Doorkeeper:
    """Uses the broker as a client does when it asks to go, before the controller hears of it."""

    def __init__(self, running: RunningNode, controller: Controller, topic_id: bytes) -> None:
        self._running = running
        self._controller = controller
        self._topic_id = topic_id
        self.answers: list[int] = []

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        if isinstance(request, BrokerHeartbeatRequest) and request.want_shut_down:
            client = await self._running.connect()
            data = PartitionProduceData(index=0, records=batch_of(b"x"))
            topic = TopicProduceData(topic_id=self._topic_id, partition_data=[data])
            produced = await client.call(ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic]))
            self.answers.append(produced.responses[0].partition_responses[0].error_code)
            found = await client.call(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
            self.answers.append(found.coordinators[0].error_code)
            await client.close()
        return await self._controller.handle(origin, request)


def test_clients_are_served_until_the_controller_has_let_the_broker_go(tmp_path: Path) -> None:
    doorkeepers: list[Doorkeeper] = []

    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        (made,) = (await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=5000))).topics
        life = running.node.broker._lifecycle
        doorkeepers.append(Doorkeeper(running, life._controller, made.topic_id))
        life._controller = doorkeepers[0]

    run_node(tmp_path, scenario)
    assert doorkeepers[0].answers == [ErrorCode.NONE, ErrorCode.NONE]


def test_a_broker_that_the_controller_refuses_lets_go_of_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(self: BrokerLifecycle, **fields: object) -> None:
        raise BrokerRefused("The controller refused this broker: why not")

    async def nothing(running: RunningNode) -> None: ...

    with monkeypatch.context() as patched:
        patched.setattr(lifecycle.BrokerLifecycle, "register", refuse)
        with pytest.raises(StartupError, match="why not"):
            run_node(tmp_path, nothing)
    run_node(tmp_path, nothing)
