"""The blocking owner of a transaction. See `ottla.client.transaction_owner`."""

from ottla.client import transaction_owner as core
from ottla.client.blocking import LoopThread, blocking, on_loop
from ottla.client.producer_ids import ProducerIdentity


class TransactionOwner:
    """A transaction in which others write."""

    def __init__(self, owner: core.TransactionOwner, thread: LoopThread) -> None:
        self._core = owner
        self._thread = thread

    @property
    def identity(self) -> ProducerIdentity:
        return self._core.identity

    @property
    def is_v2(self) -> bool:
        return self._core.is_v2

    init = blocking(core.TransactionOwner.init)
    resume = blocking(core.TransactionOwner.resume)
    begin = on_loop(core.TransactionOwner.begin)
    hand_out = on_loop(core.TransactionOwner.hand_out)
    fail = on_loop(core.TransactionOwner.fail)
    holds = on_loop(core.TransactionOwner.holds)
    add_partitions = blocking(core.TransactionOwner.add_partitions)
    send_offsets = blocking(core.TransactionOwner.send_offsets)
    commit = blocking(core.TransactionOwner.commit)
    abort = blocking(core.TransactionOwner.abort)
