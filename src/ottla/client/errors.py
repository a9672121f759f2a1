"""What can go wrong between a client and its brokers.

Everything a call may raise is a `ClientError`, and its class says where the fault lies: a `KafkaError` is the cluster's
own refusal and carries its code; a `BrokerUnreachable` or a `ConnectionLost` comes from the network; a
`RequestTimedOut` is a broker that accepted the request and stayed silent; an `UnsupportedByBroker` is a question of
versions. Results about several things (topics, partitions, groups) hold a `KafkaError` as a value for each that failed.

A transactional producer adds four of its own. After an `AbortableError`, abort the transaction, then begin it again.
After a `FatalProducerError`, close the producer: it is unusable. After a `CommitInDoubt`, call the commit again. A
`WrongOrder` is a call that is not allowed after the calls before it, and changes nothing.
"""

from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition


class ClientError(Exception):
    """Anything that a call of this client reports."""

    is_retriable = False


class KafkaError(ClientError):
    """The cluster refused: its error code and message."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        self.code = code
        self.message = message or _sentence(code)
        super().__init__(code, self.message)

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KafkaError) and (self.code, self.message) == (other.code, other.message)

    def __hash__(self) -> int:
        return hash((self.code, self.message))

    @property
    def is_retriable(self) -> bool:  # type: ignore[override]
        return self.code.is_retriable


class PartitionError(KafkaError):
    """A partition that cannot be read any further."""

    def __init__(self, partition: TopicPartition, code: ErrorCode, message: str) -> None:
        super().__init__(code, f"{partition}: {message}")
        self.partition = partition


class CorruptBatch(PartitionError):
    """The record batch that holds `offset` is damaged.

    The protocol's table calls the code retriable, for the sake of producers. What a log holds does not change, so a
    reader that tried again would wait for ever; Java's consumer gives up as well. `Consumer.seek_past` skips it.
    """

    is_retriable = False

    def __init__(self, partition: TopicPartition, offset: int, reason: str) -> None:
        super().__init__(partition, ErrorCode.CORRUPT_MESSAGE, f"the batch at offset {offset} cannot be read: {reason}")
        self.offset = offset
        self.reason = reason


class AbortableError(KafkaError):
    """The transaction cannot be committed: abort it, then begin it again."""

    is_retriable = False


class FatalProducerError(KafkaError):
    """The producer can do nothing more, not even abort: close it. PRODUCER_FENCED: another one has the same id."""

    is_retriable = False


class WrongOrder(ClientError):
    """A call that the state of the transaction does not allow; the message names the call to make instead."""


class ConnectionFailure(ClientError):
    """No answer, because there is no connection (any more)."""

    is_retriable = True


class BrokerUnreachable(ConnectionFailure):
    """A connection could not be made."""


class ConnectionRefused(BrokerUnreachable):
    """Nothing listens at the address: the host answers, but the process is not there."""


class ConnectionLost(ConnectionFailure):
    """A connection ended while requests were waiting for their answers: whether they took effect is unknown."""


class RequestTimedOut(ClientError):
    """A broker accepted a request but did not answer in time, or a call ran out of time."""

    is_retriable = True


class CommitInDoubt(RequestTimedOut):
    """A commit was not answered, and may or may not have happened. Call it again to complete it and to find out."""


class UnsupportedByBroker(ClientError):
    """Client and broker have no version of an API in common."""


class NotKafka(ClientError):
    """What answers at an address does not speak this protocol."""


class ClientClosed(ClientError):
    """The object was closed before the call."""


def code_of(number: int) -> ErrorCode:
    """Look up the error of a number; one of a future Kafka is an unknown server error."""
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def error_of(number: int, message: str | None = None) -> KafkaError | None:
    """A response's error as a value; None if there is none."""
    if number == ErrorCode.NONE:
        return None
    code = code_of(number)
    if code is ErrorCode.UNKNOWN_SERVER_ERROR and not message:
        message = f"the broker answered error {number}; its log says more"
    return KafkaError(code, message)


def raise_for(number: int, message: str | None = None) -> None:
    """Raise a response's error if there is one."""
    if error := error_of(number, message):
        raise error


_SENTENCES = {
    ErrorCode.CORRUPT_MESSAGE: "the record batch is damaged",
    ErrorCode.OFFSET_OUT_OF_RANGE: "the partition does not hold this offset (any more)",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "there is no such topic or partition",
    ErrorCode.LEADER_NOT_AVAILABLE: "the partition has no leader at the moment",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "the broker does not hold the partition any more",
    ErrorCode.REQUEST_TIMED_OUT: "the broker could not finish in the time the request allowed",
    ErrorCode.MESSAGE_TOO_LARGE: "the record batch is larger than the topic's max.message.bytes",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "the coordinator is not available yet",
    ErrorCode.NOT_ENOUGH_REPLICAS: "fewer replicas are in sync than min.insync.replicas asks for",
    ErrorCode.ILLEGAL_GENERATION: "the group has moved on to a later generation",
    ErrorCode.UNKNOWN_MEMBER_ID: "the group does not know this member (any more)",
    ErrorCode.REBALANCE_IN_PROGRESS: "the group is rebalancing",
    ErrorCode.TOPIC_ALREADY_EXISTS: "a topic of this name exists already",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "this cannot be the name of a topic",
    ErrorCode.NON_EMPTY_GROUP: "the group has members: stop its consumers first",
    ErrorCode.GROUP_ID_NOT_FOUND: "there is no such group",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "the group's members are subscribed to the topic: stop them first",
    ErrorCode.FENCED_INSTANCE_ID: "another member with the same group.instance.id has taken over",
    ErrorCode.INVALID_PRODUCER_EPOCH: "the producer's epoch is not the current one",
    ErrorCode.INVALID_TXN_STATE: "the transaction is not in a state in which this is possible",
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: "the timeout is not between 1 and the broker's transaction.max.timeout.ms",
    ErrorCode.CONCURRENT_TRANSACTIONS: "the transaction before this one has not ended everywhere yet",
    ErrorCode.PRODUCER_FENCED: "another producer with the same transactional id has taken over",
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "there is no such transactional id",
    ErrorCode.TRANSACTION_ABORTABLE: "the broker asks for an abort of the transaction",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "not allowed to use the transactional id",
    ErrorCode.LOG_DIR_NOT_FOUND: "the broker has no such log directory",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "not allowed to do this with the topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "not allowed to do this with the group",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "not allowed to do this with the cluster",
}


def _sentence(code: ErrorCode) -> str:
    return _SENTENCES.get(code) or code.name.replace("_", " ").lower()
