import pickle

import pytest

from ottla.client import Codec
from ottla.pipeline.append.options import append_options
from ottla.pipeline.errors import OptionError

SERVERS = {"kafka.bootstrap.servers": "127.0.0.1:9092"}


def test_a_writer_is_idempotent_and_waits_for_all_replicas_unless_it_is_told_otherwise() -> None:
    found = append_options(SERVERS)
    assert (found.acks, found.is_idempotent, found.transactional_id, found.topic) == (-1, True, None, None)


def test_fewer_acknowledgements_leave_idempotence_out() -> None:
    found = append_options(SERVERS | {"kafka.acks": "1"})
    assert (found.acks, found.is_idempotent) == (1, False)


def test_names_are_read_whatever_their_case() -> None:
    given = {"KAFKA.Bootstrap.Servers": "127.0.0.1:9092", "TOPIC": "t", "Kafka.Compression.Type": "zstd"}
    found = append_options(given | {"IncludeHeaders": "TRUE"})
    assert (found.topic, found.write.codec) == ("t", Codec.ZSTD)


def test_a_transaction_has_a_name_and_a_timeout() -> None:
    found = append_options(SERVERS | {"kafka.transactional.id": "x", "kafka.transaction.timeout.ms": "9000"})
    assert (found.transactional_id, found.write.transaction_timeout_ms) == ("x", 9000)


def test_options_travel_to_executors() -> None:
    found = append_options(SERVERS | {"topic": "t"})
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"kafka.bootstrap.servers": " "}, "no option kafka.bootstrap.servers"),
        ({"bootstrap.servers": "127.0.0.1:9092"}, "begin with kafka. (kafka.bootstrap.servers)"),
        ({"transactional.id": "x"}, "begin with kafka. (kafka.transactional.id)"),
        ({"topic": " "}, "the option topic is empty"),
        ({"includeHeaders": "1"}, "includeHeaders=1 is not true or false"),
        ({"kafka.acks": "2"}, "kafka.acks=2 is not one of all, -1, 0, 1"),
        ({"kafka.acks": "1", "kafka.enable.idempotence": "true"}, "an idempotent producer needs acks=all"),
        ({"kafka.transactional.id": "x", "kafka.acks": "1"}, "needs acks=all and idempotence"),
        ({"kafka.compression.type": "rar"}, "kafka.compression.type=rar is not one of"),
        ({"kafka.batch.size": "many"}, "kafka.batch.size=many"),
        ({"kafka.key.serializer": "X"}, "keys are strings or bytes already"),
    ],
)
def test_what_cannot_be_an_option_is_named(options: dict[str, str], why: str) -> None:
    with pytest.raises(OptionError) as refusal:
        append_options(SERVERS | options)
    assert why in str(refusal.value)
