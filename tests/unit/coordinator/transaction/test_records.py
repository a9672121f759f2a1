from dataclasses import replace

import pytest

from ottla.coordinator.state_machine import UnknownRecord
from ottla.coordinator.transaction.records import decode_key, decode_value, encode_key, encode_value
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.codec import MalformedMessage
from unit.coordinator.transaction.builders import metadata


@pytest.mark.parametrize("state", [state for state in TransactionState if state is not TransactionState.DEAD])
def test_a_state_comes_back_from_the_log(state: TransactionState) -> None:
    written = metadata(state, previous_id=5)
    assert decode_key(encode_key("tx-é")) == "tx-é"
    assert decode_value("tx", encode_value(written, 2)) == written


def test_the_plain_version_leaves_out_what_it_has_no_place_for() -> None:
    written = metadata(TransactionState.ONGOING, previous_id=5)
    data = encode_value(written, 0)
    assert data[:2] == b"\x00\x00"
    assert decode_value("tx", data) == replace(written, previous_producer_id=-1, client_transaction_version=0)


def test_the_last_epoch_is_not_in_the_log() -> None:
    written = metadata(TransactionState.COMPLETE_ABORT, last_epoch=3)
    assert decode_value("tx", encode_value(written, 2)).last_producer_epoch == -1


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", MalformedMessage),
        (b"\x00", MalformedMessage),
        (b"\x00\x09rest", UnknownRecord),
        (b"\x00\x01\x00", MalformedMessage),
    ],
)
def test_values_of_others_are_told_apart_from_damaged_ones(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        decode_value("tx", data)


def test_a_state_that_there_is_not_is_unknown() -> None:
    data = bytearray(encode_value(metadata(TransactionState.EMPTY), 0))
    # Version, producer id, epoch, timeout; then the state.
    data[2 + 8 + 2 + 4] = 9
    with pytest.raises(UnknownRecord, match="9"):
        decode_value("tx", bytes(data))


def test_a_key_of_another_kind_is_unknown() -> None:
    with pytest.raises(UnknownRecord, match="3"):
        decode_key(b"\x00\x03abc")
