from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.control_records import EndTxnMarker
from ottla.protocol.record_batch import BatchHeader, parse_header
from ottla.storage.cleaning.transactions import CleanedTransactions
from ottla.storage.transaction_index import AbortedTransaction

COMMIT, ABORT = EndTxnMarker(True, 0), EndTxnMarker(False, 0)


def at(offset: int, producer_id: int = 1, *, is_transactional: bool = True) -> BatchHeader:
    builder = BatchBuilder(
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=is_transactional,
    )
    builder.append(b"k", b"v", timestamp_ms=0)
    return parse_header(builder.build())


def aborted(producer_id: int, first: int, last: int) -> AbortedTransaction:
    return AbortedTransaction(producer_id, first, last, first)


def test_batches_between_the_first_of_an_aborted_transaction_and_its_marker_are_void() -> None:
    transactions = CleanedTransactions([aborted(1, 10, 14)], 0)
    assert not transactions.is_void(at(5))
    assert not transactions.ends_nothing(at(6), COMMIT)
    assert transactions.is_void(at(10))
    assert not transactions.is_void(at(11, producer_id=2))
    assert not transactions.is_void(at(12, is_transactional=False))
    assert transactions.is_void(at(13))
    assert not transactions.ends_nothing(at(14), ABORT)
    assert not transactions.is_void(at(15))


def test_a_marker_is_needless_once_no_batch_of_its_transaction_is_left() -> None:
    transactions = CleanedTransactions([aborted(1, 0, 3), aborted(2, 4, 9)], 0)
    assert transactions.ends_nothing(at(3), ABORT)
    assert transactions.is_void(at(5, producer_id=2))
    assert transactions.ends_nothing(at(6, producer_id=3), COMMIT)
    assert not transactions.ends_nothing(at(9, producer_id=2), ABORT)
    assert transactions.ends_nothing(at(10, producer_id=2), ABORT), "a repeated marker ends nothing"


def test_a_marker_that_was_taken_out_is_needless() -> None:
    assert CleanedTransactions([], 0).ends_nothing(at(3), None)


def test_the_aborted_transactions_with_a_batch_stay() -> None:
    transactions = CleanedTransactions([aborted(1, 0, 3), aborted(2, 1, 5)], 0)
    assert transactions.is_void(at(1, producer_id=2))
    transactions.ends_nothing(at(3), ABORT)
    assert transactions.take_retained() == []
    transactions.ends_nothing(at(5, producer_id=2), ABORT)
    assert transactions.take_retained() == [aborted(2, 1, 5)]
    assert transactions.take_retained() == []


def test_transactions_that_ended_before_the_beginning_do_not_count() -> None:
    transactions = CleanedTransactions([aborted(1, 0, 3), aborted(1, 8, 12)], 4)
    assert not transactions.is_void(at(5))
    assert transactions.is_void(at(9))
