"""What requests of transactions are answered in every state and version, as Apache Kafka 4.3 answers them."""

import asyncio
from collections.abc import Callable

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.servers import Server
from harness.transaction_states import REQUESTS, STATES, answers_to
from harness.transaction_wire import TransactionWire
from harness.wire import WireClient

# Recorded from Apache Kafka 4.3.0, whose clusters have transaction.version 2: versions, and the error or what became of
# producer id and epoch. In `begun, old` the partition was added by AddPartitionsToTxn 3, in `ended, old` by EndTxn 4.
ANSWERS = {
    "InitProducerId": {
        "an id that nobody has": "0-5 new id, epoch 0",
        "no id": "0-5 INVALID_REQUEST",
        "nothing begun": "0-5 epoch +1",
        "begun": "0-5 CONCURRENT_TRANSACTIONS",
        "begun, old": "0-5 CONCURRENT_TRANSACTIONS",
        "committed": "0-5 epoch +1",
        "committed, epoch before": "0-5 epoch +2",
        "committed, old": "0-5 epoch +1",
        "aborted": "0-5 epoch +1",
        "aborted, epoch before": "0-5 epoch +2",
        "aborted, old": "0-5 epoch +1",
        "fenced": "0-5 epoch +2",
        "begun, later epoch": "0-5 CONCURRENT_TRANSACTIONS",
        "begun, another producer id": "0-5 CONCURRENT_TRANSACTIONS",
    },
    "InitProducerId with id and epoch": {
        "an id that nobody has": "3-5 new id, epoch 0",
        "no id": "3-5 INVALID_REQUEST",
        "nothing begun": "3-5 epoch +1",
        "begun": "3-5 CONCURRENT_TRANSACTIONS",
        "begun, old": "3-5 CONCURRENT_TRANSACTIONS",
        "committed": "3-5 epoch +1",
        "committed, epoch before": "3-5 epoch +1",
        "committed, old": "3-5 epoch +1",
        "aborted": "3-5 epoch +1",
        "aborted, epoch before": "3-5 epoch +1",
        "aborted, old": "3-5 epoch +1",
        "fenced": "3 INVALID_PRODUCER_EPOCH, 4-5 PRODUCER_FENCED",
        "begun, later epoch": "3-5 CONCURRENT_TRANSACTIONS",
        "begun, another producer id": "3 INVALID_PRODUCER_EPOCH, 4-5 PRODUCER_FENCED",
    },
    "AddPartitionsToTxn": {
        "an id that nobody has": "0-5 INVALID_PRODUCER_ID_MAPPING",
        "no id": "0-5 INVALID_REQUEST",
        "nothing begun": "0-5 NONE",
        "begun": "0-5 NONE",
        "begun, old": "0-5 NONE",
        "committed": "0-5 NONE",
        "committed, epoch before": "0-1 INVALID_PRODUCER_EPOCH, 2-5 PRODUCER_FENCED",
        "committed, old": "0-5 NONE",
        "aborted": "0-5 NONE",
        "aborted, epoch before": "0-1 INVALID_PRODUCER_EPOCH, 2-5 PRODUCER_FENCED",
        "aborted, old": "0-5 NONE",
        "fenced": "0-1 INVALID_PRODUCER_EPOCH, 2-5 PRODUCER_FENCED",
        "begun, later epoch": "0-1 INVALID_PRODUCER_EPOCH, 2-5 PRODUCER_FENCED",
        "begun, another producer id": "0-5 INVALID_PRODUCER_ID_MAPPING",
    },
    "AddPartitionsToTxn, verify": {
        "an id that nobody has": "4-5 INVALID_PRODUCER_ID_MAPPING",
        "no id": "4-5 INVALID_REQUEST",
        "nothing begun": "4-5 TRANSACTION_ABORTABLE",
        "begun": "4-5 NONE",
        "begun, old": "4-5 NONE",
        "committed": "4-5 TRANSACTION_ABORTABLE",
        "committed, epoch before": "4-5 PRODUCER_FENCED",
        "committed, old": "4-5 TRANSACTION_ABORTABLE",
        "aborted": "4-5 TRANSACTION_ABORTABLE",
        "aborted, epoch before": "4-5 PRODUCER_FENCED",
        "aborted, old": "4-5 TRANSACTION_ABORTABLE",
        "fenced": "4-5 PRODUCER_FENCED",
        "begun, later epoch": "4-5 PRODUCER_FENCED",
        "begun, another producer id": "4-5 INVALID_PRODUCER_ID_MAPPING",
    },
    "AddPartitionsToTxn, verify new": {
        "an id that nobody has": "4-5 INVALID_PRODUCER_ID_MAPPING",
        "no id": "4-5 INVALID_REQUEST",
        "nothing begun": "4-5 TRANSACTION_ABORTABLE",
        "begun": "4-5 TRANSACTION_ABORTABLE",
        "begun, old": "4-5 TRANSACTION_ABORTABLE",
        "committed": "4-5 TRANSACTION_ABORTABLE",
        "committed, epoch before": "4-5 PRODUCER_FENCED",
        "committed, old": "4-5 TRANSACTION_ABORTABLE",
        "aborted": "4-5 TRANSACTION_ABORTABLE",
        "aborted, epoch before": "4-5 PRODUCER_FENCED",
        "aborted, old": "4-5 TRANSACTION_ABORTABLE",
        "fenced": "4-5 PRODUCER_FENCED",
        "begun, later epoch": "4-5 PRODUCER_FENCED",
        "begun, another producer id": "4-5 INVALID_PRODUCER_ID_MAPPING",
    },
    "AddOffsetsToTxn": {
        "an id that nobody has": "0-4 INVALID_PRODUCER_ID_MAPPING",
        "no id": "0-4 INVALID_REQUEST",
        "nothing begun": "0-4 NONE",
        "begun": "0-4 NONE",
        "begun, old": "0-4 NONE",
        "committed": "0-4 NONE",
        "committed, epoch before": "0-1 INVALID_PRODUCER_EPOCH, 2-4 PRODUCER_FENCED",
        "committed, old": "0-4 NONE",
        "aborted": "0-4 NONE",
        "aborted, epoch before": "0-1 INVALID_PRODUCER_EPOCH, 2-4 PRODUCER_FENCED",
        "aborted, old": "0-4 NONE",
        "fenced": "0-1 INVALID_PRODUCER_EPOCH, 2-4 PRODUCER_FENCED",
        "begun, later epoch": "0-1 INVALID_PRODUCER_EPOCH, 2-4 PRODUCER_FENCED",
        "begun, another producer id": "0-4 INVALID_PRODUCER_ID_MAPPING",
    },
    "TxnOffsetCommit": {
        "an id that nobody has": "0-5 INVALID_PRODUCER_ID_MAPPING",
        "no id": "0-5 INVALID_REQUEST",
        "nothing begun": "0-3 INVALID_TXN_STATE, 4 TRANSACTION_ABORTABLE, 5 NONE",
        "begun": "0-3 INVALID_TXN_STATE, 4 TRANSACTION_ABORTABLE, 5 NONE",
        "begun, old": "0-3 INVALID_TXN_STATE, 4 TRANSACTION_ABORTABLE, 5 NONE",
        "committed": "0-3 INVALID_TXN_STATE, 4 TRANSACTION_ABORTABLE, 5 NONE",
        "committed, epoch before": "0-5 INVALID_PRODUCER_EPOCH",
        "committed, old": "0-3 INVALID_TXN_STATE, 4 TRANSACTION_ABORTABLE, 5 NONE",
        "aborted": "0-3 INVALID_TXN_STATE, 4 TRANSACTION_ABORTABLE, 5 NONE",
        "aborted, epoch before": "0-5 INVALID_PRODUCER_EPOCH",
        "aborted, old": "0-3 INVALID_TXN_STATE, 4 TRANSACTION_ABORTABLE, 5 NONE",
        "fenced": "0-5 INVALID_PRODUCER_EPOCH",
        "begun, later epoch": "0-5 INVALID_PRODUCER_EPOCH",
        "begun, another producer id": "0-5 INVALID_PRODUCER_ID_MAPPING",
    },
    "TxnOffsetCommit of a member": {
        "an id that nobody has": "3-5 INVALID_PRODUCER_ID_MAPPING",
        "no id": "3-5 INVALID_REQUEST",
        "nothing begun": "3 INVALID_TXN_STATE, 4 TRANSACTION_ABORTABLE, 5 UNKNOWN_MEMBER_ID",
        "begun": "3 INVALID_TXN_STATE, 4 TRANSACTION_ABORTABLE, 5 UNKNOWN_MEMBER_ID",
        "begun, old": "3 INVALID_TXN_STATE, 4 TRANSACTION_ABORTABLE, 5 UNKNOWN_MEMBER_ID",
        "committed": "3 INVALID_TXN_STATE, 4 TRANSACTION_ABORTABLE, 5 UNKNOWN_MEMBER_ID",
        "committed, epoch before": "3-5 INVALID_PRODUCER_EPOCH",
        "committed, old": "3 INVALID_TXN_STATE, 4 TRANSACTION_ABORTABLE, 5 UNKNOWN_MEMBER_ID",
        "aborted": "3 INVALID_TXN_STATE, 4 TRANSACTION_ABORTABLE, 5 UNKNOWN_MEMBER_ID",
        "aborted, epoch before": "3-5 INVALID_PRODUCER_EPOCH",
        "aborted, old": "3 INVALID_TXN_STATE, 4 TRANSACTION_ABORTABLE, 5 UNKNOWN_MEMBER_ID",
        "fenced": "3-5 INVALID_PRODUCER_EPOCH",
        "begun, later epoch": "3-5 INVALID_PRODUCER_EPOCH",
        "begun, another producer id": "3-5 INVALID_PRODUCER_ID_MAPPING",
    },
    "EndTxn commit": {
        "an id that nobody has": "0-5 INVALID_PRODUCER_ID_MAPPING",
        "no id": "0-5 INVALID_REQUEST",
        "nothing begun": "0-5 INVALID_TXN_STATE",
        "begun": "0-4 epoch +0, 5 epoch +1",
        "begun, old": "0-4 epoch +0, 5 epoch +1",
        "committed": "0-4 epoch +0, 5 INVALID_TXN_STATE",
        "committed, epoch before": "0-1 INVALID_PRODUCER_EPOCH, 2-4 PRODUCER_FENCED, 5 epoch +1",
        "committed, old": "0-4 epoch +0, 5 INVALID_TXN_STATE",
        "aborted": "0-5 INVALID_TXN_STATE",
        "aborted, epoch before": "0-1 INVALID_PRODUCER_EPOCH, 2-4 PRODUCER_FENCED, 5 INVALID_TXN_STATE",
        "aborted, old": "0-5 INVALID_TXN_STATE",
        "fenced": "0-1 INVALID_PRODUCER_EPOCH, 2-5 PRODUCER_FENCED",
        "begun, later epoch": "0-1 INVALID_PRODUCER_EPOCH, 2-5 PRODUCER_FENCED",
        "begun, another producer id": "0-5 INVALID_PRODUCER_ID_MAPPING",
    },
    "EndTxn abort": {
        "an id that nobody has": "0-5 INVALID_PRODUCER_ID_MAPPING",
        "no id": "0-5 INVALID_REQUEST",
        "nothing begun": "0-4 INVALID_TXN_STATE, 5 epoch +1",
        "begun": "0-4 epoch +0, 5 epoch +1",
        "begun, old": "0-4 epoch +0, 5 epoch +1",
        "committed": "0-4 INVALID_TXN_STATE, 5 epoch +1",
        "committed, epoch before": "0-1 INVALID_PRODUCER_EPOCH, 2-4 PRODUCER_FENCED, 5 INVALID_TXN_STATE",
        "committed, old": "0-4 INVALID_TXN_STATE, 5 epoch +1",
        "aborted": "0-4 epoch +0, 5 epoch +1",
        "aborted, epoch before": "0-1 INVALID_PRODUCER_EPOCH, 2-4 PRODUCER_FENCED, 5 epoch +1",
        "aborted, old": "0-4 epoch +0, 5 epoch +1",
        "fenced": "0-1 INVALID_PRODUCER_EPOCH, 2-5 PRODUCER_FENCED",
        "begun, later epoch": "0-1 INVALID_PRODUCER_EPOCH, 2-5 PRODUCER_FENCED",
        "begun, another producer id": "0-5 INVALID_PRODUCER_ID_MAPPING",
    },
    "Produce": {
        "an id that nobody has": "3-13 INVALID_PRODUCER_ID_MAPPING",
        "no id": "3-13 INVALID_REQUEST",
        "nothing begun": "3-10 INVALID_TXN_STATE, 11 TRANSACTION_ABORTABLE, 12-13 NONE",
        "begun": "3-10 INVALID_TXN_STATE, 11 TRANSACTION_ABORTABLE, 12-13 NONE",
        "begun, old": "3-10 INVALID_TXN_STATE, 11 TRANSACTION_ABORTABLE, 12-13 NONE",
        "committed": "3-10 INVALID_TXN_STATE, 11 TRANSACTION_ABORTABLE, 12-13 NONE",
        "committed, epoch before": "3-13 INVALID_PRODUCER_EPOCH",
        "committed, old": "3-10 INVALID_TXN_STATE, 11 TRANSACTION_ABORTABLE, 12-13 NONE",
        "aborted": "3-10 INVALID_TXN_STATE, 11 TRANSACTION_ABORTABLE, 12-13 NONE",
        "aborted, epoch before": "3-13 INVALID_PRODUCER_EPOCH",
        "aborted, old": "3-10 INVALID_TXN_STATE, 11 TRANSACTION_ABORTABLE, 12-13 NONE",
        "fenced": "3-13 INVALID_PRODUCER_EPOCH",
        "begun, later epoch": "3-13 INVALID_PRODUCER_EPOCH",
        "begun, another producer id": "3-13 INVALID_PRODUCER_ID_MAPPING",
    },
    "Produce more": {
        "an id that nobody has": "3-13 INVALID_PRODUCER_ID_MAPPING",
        "no id": "3-13 INVALID_REQUEST",
        "nothing begun": "3-10 INVALID_TXN_STATE, 11 TRANSACTION_ABORTABLE, 12-13 OUT_OF_ORDER_SEQUENCE_NUMBER",
        "begun": "3-13 NONE",
        "begun, old": "3-13 NONE",
        "committed": "3-10 INVALID_TXN_STATE, 11 TRANSACTION_ABORTABLE, 12-13 OUT_OF_ORDER_SEQUENCE_NUMBER",
        "committed, epoch before": "3-13 INVALID_PRODUCER_EPOCH",
        "committed, old": "3-10 INVALID_TXN_STATE, 11 TRANSACTION_ABORTABLE, 12-13 NONE",
        "aborted": "3-10 INVALID_TXN_STATE, 11 TRANSACTION_ABORTABLE, 12-13 OUT_OF_ORDER_SEQUENCE_NUMBER",
        "aborted, epoch before": "3-13 INVALID_PRODUCER_EPOCH",
        "aborted, old": "3-10 INVALID_TXN_STATE, 11 TRANSACTION_ABORTABLE, 12-13 NONE",
        "fenced": "3-13 INVALID_PRODUCER_EPOCH",
        "begun, later epoch": "3-13 INVALID_PRODUCER_EPOCH",
        "begun, another producer id": "3-13 INVALID_PRODUCER_ID_MAPPING",
    },
    "Produce plainly": {
        "an id that nobody has": "3-13 NONE",
        "no id": "3-13 NONE",
        "nothing begun": "3-13 NONE",
        "begun": "3-13 INVALID_TXN_STATE",
        "begun, old": "3-13 INVALID_TXN_STATE",
        "committed": "3-13 OUT_OF_ORDER_SEQUENCE_NUMBER",
        "committed, epoch before": "3-13 INVALID_PRODUCER_EPOCH",
        "committed, old": "3-13 NONE",
        "aborted": "3-13 OUT_OF_ORDER_SEQUENCE_NUMBER",
        "aborted, epoch before": "3-13 INVALID_PRODUCER_EPOCH",
        "aborted, old": "3-13 NONE",
        "fenced": "3-13 NONE",
        "begun, later epoch": "3-13 OUT_OF_ORDER_SEQUENCE_NUMBER",
        "begun, another producer id": "3-13 NONE",
    },
}


def test_the_table_is_complete() -> None:
    assert ANSWERS.keys() == REQUESTS.keys()
    assert all(answers.keys() == STATES.keys() for answers in ANSWERS.values())


@pytest.mark.parametrize("request_name", ANSWERS)
def test_answers(request_name: str, server: Server, reference: ConfluentKafka, new_topic: Callable[..., str]) -> None:
    topic = new_topic(2)
    for partition in range(2):
        reference.produce(topic, [Record(b"x")], partition=partition)

    async def ask() -> dict[str, str]:
        client = await WireClient.connect(server.port)
        try:
            return await answers_to(TransactionWire(client), request_name, topic)
        finally:
            await client.close()

    assert asyncio.run(ask()) == ANSWERS[request_name]
