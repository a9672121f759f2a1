"""The same requests, to this broker itself and to another one."""

from pathlib import Path

import pytest

from harness.ports import free_port
from harness.running_node import RunningNode, run_node
from ottla.broker.coordinators.transactions.channel import TransactionChannel
from ottla.broker.peers import Peers, PeerUnavailable
from ottla.client.addresses import Address
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from ottla.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from unit.broker.test_peers import LISTENER, PEER_ID, broker, image_of

MARKER = WritableTxnMarker(
    producer_id=7, producer_epoch=0, topics=[WritableTxnMarkerTopic(name="t", partition_indexes=[0])]
)
ADDITION = AddPartitionsToTxnTransaction(
    transactional_id="tx", producer_id=7, topics=[AddPartitionsToTxnTopic(name="t", partitions=[0])]
)
OWN_ID = 1


@pytest.mark.parametrize("broker_id", [OWN_ID, PEER_ID])
def test_a_broker_answers_the_same_to_itself_and_to_another(tmp_path: Path, broker_id: int) -> None:
    async def scenario(running: RunningNode) -> None:
        assert running.node.broker is not None
        peers = Peers(OWN_ID, LISTENER)
        peers.image_changed(image_of(broker(Address("127.0.0.1", running.port))))
        channel = TransactionChannel(OWN_ID, LISTENER, running.node.broker.dispatcher, peers, 30_000)
        marked = await channel.write_markers(broker_id, WriteTxnMarkersRequest(markers=[MARKER]))
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert marked.markers[0].topics[0].partitions[0].error_code == unknown
        added = await channel.add_partitions(broker_id, AddPartitionsToTxnRequest(transactions=[ADDITION]))
        (row,) = added.results_by_transaction[0].topic_results[0].results_by_partition
        assert row.partition_error_code == unknown
        await peers.close()

    run_node(tmp_path, scenario)


def test_a_broker_that_is_not_there_is_named(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        assert running.node.broker is not None
        peers = Peers(OWN_ID, LISTENER)
        peers.image_changed(image_of(broker(Address("127.0.0.1", free_port()))))
        channel = TransactionChannel(OWN_ID, LISTENER, running.node.broker.dispatcher, peers, 30_000)
        with pytest.raises(PeerUnavailable, match=f"broker {PEER_ID}"):
            await channel.write_markers(PEER_ID, WriteTxnMarkersRequest(markers=[MARKER]))
        await peers.close()

    run_node(tmp_path, scenario)
