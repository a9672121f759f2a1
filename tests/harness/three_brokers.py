"""Three brokers as one server under test, of Ottla or of Apache Kafka, with three replicas of every topic.

For suites that know a server as an address. Each broker is a controller as well, and their ids are 0, 1 and 2.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from harness.cluster import Cluster
from harness.replicas import leader_of, wait_until_in_sync, wait_until_known
from harness.servers import KINDS, TEST_SETTINGS
from ottla.client import NewTopic
from ottla.client.sync import Client

BROKER_IDS = range(3)

REPLICATED = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    # Fifty of each would be three hundred logs to create before the first test of a group.
    "offsets.topic.num.partitions": "6",
    "transaction.state.log.num.partitions": "6",
}


class ThreeBrokers:
    def __init__(self, kind: str, home: Path, overrides: Mapping[str, str] | None = None) -> None:
        """`kind` is one of those of single servers; `{bootstrap}` in a value is the broker's own address."""
        assert kind in KINDS, kind
        self.home = home
        given = TEST_SETTINGS | REPLICATED | dict(overrides or {})
        given.pop("node.id", None)
        apache_ids = BROKER_IDS if kind == "kafka" else ()
        self.cluster = Cluster(home, brokers=3, settings=given, apache_ids=apache_ids, first_broker_id=BROKER_IDS[0])
        for node in self.cluster.nodes.values():
            node.settings = {
                name: value.replace("{bootstrap}", node.bootstrap) for name, value in node.settings.items()
            }

    @property
    def bootstrap(self) -> str:
        return self.cluster.bootstrap

    def start(self) -> None:
        self.cluster.start()

    def kill(self) -> None:
        """All of them."""
        self.cluster.close()

    def create_topics(self, *topics: str, partitions: int) -> None:
        """Returns when every partition has a leader and all its replicas in sync."""
        with Client(self.bootstrap) as client:
            made = client.admin.create_topics([NewTopic(topic, partitions) for topic in topics])
        assert {topic: one.error for topic, one in made.items()} == dict.fromkeys(topics)
        wait_until_known(self.bootstrap, topics)
        self.until_in_sync()

    def leader(self, topic: str, partition: int = 0) -> int:
        return leader_of(self.bootstrap, topic, partition)

    def coordinators_of(self, transactional_id: str) -> list[int]:
        """The broker that coordinates its open transaction; none while no transaction of it is open."""
        with Client(self.bootstrap) as client:
            known = client.admin.list_transactions()
        return [
            one.coordinator_id for one in known if (one.transactional_id, one.state) == (transactional_id, "Ongoing")
        ]

    @contextmanager
    def without(self, broker_id: int) -> Iterator[None]:
        """A broker is killed, and comes back in the end; then everything is in sync again."""
        self.cluster.nodes[broker_id].kill()
        try:
            yield
        finally:
            self.cluster.nodes[broker_id].start()
        self.cluster.until_known(self.cluster.brokers.keys())
        self.until_in_sync()

    def until_in_sync(self) -> None:
        wait_until_in_sync(self.bootstrap)


@contextmanager
def three_brokers(home: Path, overrides: Mapping[str, str] | None = None) -> Iterator[ThreeBrokers]:
    """Brokers of the kind that OTTLA_TEST_SERVER names."""
    brokers = ThreeBrokers(os.environ.get("OTTLA_TEST_SERVER", "ottla"), home, overrides)
    try:
        brokers.start()
        yield brokers
    finally:
        brokers.kill()
