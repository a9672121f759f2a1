"""How a producer works, and which combinations of settings are refused."""

from dataclasses import dataclass

from ottla.client.producer_ids import check_transaction_timeout
from ottla.protocol.compression import Codec


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """How a producer works; the names in comments are Kafka's, and so are the defaults."""

    acks: int = -1
    codec: Codec = Codec.NONE  # compression.type
    compression_level: int | None = None
    idempotent: bool = True  # enable.idempotence
    linger_ms: float = 5
    batch_bytes: int = 16_384  # batch.size
    request_bytes_max: int = 1_048_576  # max.request.size
    buffer_bytes: int = 33_554_432  # buffer.memory
    max_block_ms: float = 60_000
    delivery_timeout_ms: float = 120_000
    auto_create_topics: bool = True
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000

    def __post_init__(self) -> None:
        if self.acks not in (-1, 0, 1):
            raise ValueError(f"acks={self.acks}: it is -1 (all replicas in sync), 1 (the leader) or 0 (nobody)")
        if self.idempotent and self.acks != -1:
            raise ValueError(f"an idempotent producer needs acks=-1, not {self.acks}: set idempotent=False as well")
        if not isinstance(self.codec, Codec):
            raise TypeError(f"codec={self.codec!r}: write one of {', '.join(f'Codec.{codec.name}' for codec in Codec)}")
        if self.linger_ms < 0:
            raise ValueError(f"linger_ms={self.linger_ms}: a wait cannot be shorter than 0")
        if self.transactional_id is not None and not self.idempotent:
            raise ValueError("a transactional producer is idempotent: leave idempotent=True")
        check_transaction_timeout(self.transaction_timeout_ms)
