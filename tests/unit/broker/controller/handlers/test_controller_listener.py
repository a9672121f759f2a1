"""The table of a listener of controllers: frames in, answers out, on a running node."""

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.registrations import registration_request
from harness.running_node import RunningNode, run_node
from harness.wire import framed_request, response_class
from ottla.broker.handlers import load_handlers
from ottla.broker.host import Machine
from ottla.broker.requests.dispatch import Dispatcher
from ottla.broker.requests.unserved_apis import UnservedApi
from ottla.protocol.codec import decode
from ottla.protocol.envelope import open_response, seal
from ottla.protocol.errors import ErrorCode
from ottla.protocol.listener_kinds import ListenerKind
from ottla.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from ottla.protocol.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from ottla.protocol.messages.alter_partition_request import AlterPartitionRequest
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from ottla.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from ottla.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from ottla.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.create_topics_response import CreateTopicsResponse
from ottla.protocol.messages.envelope_request import EnvelopeRequest
from ottla.protocol.messages.metadata_request import MetadataRequest
from ottla.protocol.schema import Message
from ottla.security.permissions import CONTROLLER_PERMISSIONS


class ControllerListener:
    """Asks as a connection would."""

    def __init__(self, running: RunningNode) -> None:
        self._dispatcher = Dispatcher(load_handlers(ListenerKind.CONTROLLER), Machine(), CONTROLLER_PERMISSIONS)
        served = {key: api.versions for key, api in self._dispatcher.apis.items()}
        self._dispatcher.services = replace(
            running.node.broker.dispatcher.services, served_versions=served, dispatcher=self._dispatcher
        )
        self._connection: Any = SimpleNamespace(client_host="127.0.0.1", listener="CONTROLLER", principal="User:b")

    async def call(self, request: Message) -> Any:
        version = request.VERSIONS.stop - 1
        frame = bytearray(framed_request(request, version, 7, "broker")[4:])
        answer = self._dispatcher.dispatch(self._connection, frame)
        if isinstance(answer, asyncio.Future):
            answer = await answer
        assert answer is not None
        header_bytes = 8 if request.API_KEY == 18 else 9
        return decode(response_class(type(request)), b"".join(map(bytes, answer))[header_bytes:], version)

    def close(self) -> None:
        self._dispatcher.close()


def test_a_registration_that_is_refused_is_told_with_its_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(running: RunningNode) -> None:
        controller = ControllerListener(running)
        refused = await controller.call(registration_request(7, "elsewhere"))
        assert refused.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
        assert "Broker 7 at 127.0.0.1 is not registered: INCONSISTENT_CLUSTER_ID" in caplog.text
        controller.close()

    run_node(tmp_path, scenario)


def test_brokers_live_by_it_and_clients_find_nothing_of_theirs(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        controller = ControllerListener(running)
        asked = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        offered = {row.api_key for row in (await controller.call(asked)).api_keys}
        assert offered == {module.API_KEY for module in load_handlers(ListenerKind.CONTROLLER)}
        registered = await controller.call(registration_request(7, running.node.cluster_id))
        assert registered.error_code == ErrorCode.NONE
        heartbeat = BrokerHeartbeatRequest(
            broker_id=7,
            broker_epoch=registered.broker_epoch,
            current_metadata_offset=registered.broker_epoch,
            want_fence=True,
        )
        answer = await controller.call(heartbeat)
        assert (answer.error_code, answer.is_caught_up, answer.is_fenced) == (ErrorCode.NONE, True, True)
        ids = AllocateProducerIdsRequest(broker_id=7, broker_epoch=registered.broker_epoch)
        assert (await controller.call(ids)).producer_id_len == 1000
        ids.broker_epoch -= 1
        assert (await controller.call(ids)).error_code == ErrorCode.STALE_BROKER_EPOCH
        for request in (
            AlterPartitionRequest(broker_id=7, broker_epoch=registered.broker_epoch - 1),
            AssignReplicasToDirsRequest(broker_id=7, broker_epoch=registered.broker_epoch - 1),
        ):
            assert (await controller.call(request)).error_code == ErrorCode.STALE_BROKER_EPOCH
            request.broker_epoch += 1
            assert (await controller.call(request)).error_code == ErrorCode.NONE
        for is_ready, code in ((False, ErrorCode.NONE), (True, ErrorCode.INVALID_REQUEST)):
            own = ControllerRegistrationRequest(controller_id=1, zk_migration_ready=is_ready)
            assert (await controller.call(own)).error_code == code
        with pytest.raises(UnservedApi):
            await controller.call(MetadataRequest())
        controller.close()

    run_node(tmp_path, scenario)


def test_a_client_behind_a_broker_is_served_by_envelope(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        controller = ControllerListener(running)

        def forward(request: Message, version: int) -> EnvelopeRequest:
            return seal(request, version, principal="User:alice", client_host="10.0.0.1", client_id="admin")

        topics = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)])
        for code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            answer = await controller.call(forward(topics, 7))
            assert answer.error_code == ErrorCode.NONE
            (row,) = open_response(answer, topics, 7, CreateTopicsResponse).topics
            assert row.error_code == code
        registration = BrokerRegistrationRequest(broker_id=7, cluster_id=running.node.cluster_id)
        refusals = {
            ErrorCode.INVALID_REQUEST: [forward(forward(topics, 7), 0), forward(registration, 4)],
            ErrorCode.UNSUPPORTED_VERSION: [forward(AlterPartitionReassignmentsRequest(), 0)],
        }
        unknown_version = forward(topics, 7)
        unknown_version.request_data = topics.API_KEY.to_bytes(2) + (99).to_bytes(2) + unknown_version.request_data[4:]
        refusals[ErrorCode.UNSUPPORTED_VERSION].append(unknown_version)
        damaged = forward(topics, 7)
        damaged.request_data = damaged.request_data[:-3]
        refusals[ErrorCode.INVALID_REQUEST].append(damaged)
        for code, envelopes in refusals.items():
            for envelope in envelopes:
                assert (await controller.call(envelope)).error_code == code
        running.node._controller._active, active = None, running.node._controller._active
        assert (await controller.call(forward(topics, 7))).error_code == ErrorCode.NOT_CONTROLLER
        running.node._controller._active = active
        controller.close()

    run_node(tmp_path, scenario)


def test_a_listener_of_brokers_does_not_take_brokers_in(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        client.send(BrokerHeartbeatRequest(broker_id=1), 0)
        assert await client.is_closed_by_peer()

    run_node(tmp_path, scenario)
