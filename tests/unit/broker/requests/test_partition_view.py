"""What clients are told about a partition."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ottla.broker.requests.partition_view import view
from ottla.broker.requests.request_context import RequestContext
from ottla.metadata.image import ClusterImage, apply_records
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.messages.partition_record import PartitionRecord
from ottla.protocol.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.schema import Message

TOPIC_ID = b"t" * 16
UNASSIGNED, LOST = bytes(16), bytes(15) + b"\x01"


def directory(broker_id: int) -> bytes:
    return b"directory number"[:-1] + b"%d" % broker_id


def broker(broker_id: int, *listeners: str, fenced: bool = False) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker_id,
        broker_epoch=broker_id,
        fenced=fenced,
        log_dirs=[directory(broker_id)],
        end_points=[BrokerEndpoint(name=name, host="here", port=9092) for name in listeners or ("PLAINTEXT",)],
    )


def look(*records: Message, directories: tuple[bytes, ...] | None = None) -> tuple[ErrorCode, int, list[int]]:
    """The view of a partition that broker 1 leads, with replicas on brokers 1, 2 and 3."""
    topic = TopicRecord(name="t", topic_id=TOPIC_ID)
    placed = PartitionRecord(
        partition_id=0,
        topic_id=TOPIC_ID,
        replicas=[1, 2, 3],
        isr=[1, 2, 3],
        leader=1,
        directories=directories or tuple(map(directory, (1, 2, 3))),
    )
    image, _ = apply_records(ClusterImage(), [topic, placed, *records], end_offset=9, epoch=1)
    services: Any = SimpleNamespace(image=image)
    context = RequestContext(3, 13, "test", "127.0.0.1", "PLAINTEXT", "User:ANONYMOUS", cast(Any, services))
    state = image.topics.partition_of("t", 0)
    assert state is not None
    found = view(context, state)
    return found.error_code, found.leader_id, found.offline_replicas


def test_a_leader_in_controlled_shutdown_is_shown_until_it_is_fenced() -> None:
    leaving = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1, in_controlled_shutdown=1)
    assert look(broker(1), broker(2), broker(3), leaving) == (ErrorCode.NONE, 1, [])
    fenced = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=1, fenced=1)
    assert look(broker(1), broker(2), broker(3), leaving, fenced) == (ErrorCode.LEADER_NOT_AVAILABLE, -1, [1])


def test_a_replica_is_offline_when_its_broker_is_unknown_fenced_or_without_the_listener() -> None:
    assert look(broker(1), broker(2, fenced=True)) == (ErrorCode.NONE, 1, [2, 3])
    assert look(broker(1), broker(2), broker(3, "OTHER")) == (ErrorCode.NONE, 1, [3])


def test_a_leader_without_the_listener_is_hidden_for_that_reason() -> None:
    assert look(broker(1, "OTHER"), broker(2), broker(3)) == (ErrorCode.LISTENER_NOT_FOUND, -1, [1])


@pytest.mark.parametrize(
    ("of_broker_2", "offline"), [(UNASSIGNED, []), (LOST, [2]), (directory(2), []), (directory(3), [2])]
)
def test_a_replica_in_an_offline_directory_is_offline(of_broker_2: bytes, offline: list[int]) -> None:
    directories = (directory(1), of_broker_2, directory(3))
    found = look(broker(1), broker(2), broker(3), directories=directories)
    assert found == (ErrorCode.NONE, 1, offline)
