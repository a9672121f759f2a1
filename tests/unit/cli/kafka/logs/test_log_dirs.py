import json

import pytest

from ottla.cli.exits import CommandError
from ottla.cli.kafka.logs.log_dirs import as_json, broker_ids
from ottla.client import KafkaError, TopicPartition
from ottla.client.admin.brokers import LogDirDescription, ReplicaOnDisk
from ottla.protocol.errors import ErrorCode

REPLICAS = {TopicPartition("a", 0): ReplicaOnDisk(7, 1, True), TopicPartition("b-c", 1): ReplicaOnDisk(0, 0, False)}
GOOD = LogDirDescription("/data", REPLICAS)
BROKEN = LogDirDescription("/broken", error=KafkaError(ErrorCode.KAFKA_STORAGE_ERROR))


def test_the_answer_is_one_line_with_apaches_keys_in_apaches_order() -> None:
    assert as_json([(1, (GOOD,))], ["a"]) == (
        '{"brokers":[{"broker":1,"logDirs":[{"partitions":[{"partition":"a-0","size":7,"offsetLag":1,"isFuture":true}],'
        '"error":null,"logDir":"/data"}]}],"version":1}'
    )


def test_a_broken_directory_has_javas_name_for_its_error() -> None:
    (broker,) = json.loads(as_json([(1, (GOOD, BROKEN))], []))["brokers"]
    assert [len(directory["partitions"]) for directory in broker["logDirs"]] == [2, 0]
    assert broker["logDirs"][1]["error"] == "org.apache.kafka.common.errors.KafkaStorageException"


def test_brokers_are_a_list_of_ids() -> None:
    assert broker_ids("") == set()
    assert broker_ids("1,2") == {1, 2}
    with pytest.raises(CommandError, match="write ids of brokers"):
        broker_ids("1,x")
