"""Apache's tools for topics, settings and the cluster, and ours under the same names, side by side on one server.

What both print is compared line by line, except for what must differ: names that each side has for itself, ids, times,
and the order in which Java's hash maps happen to be walked.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from harness.clients.java_client import JavaClient
from harness.waiting import eventually
from ottla.cli.main import main

CLASSES: Final = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
}
# Ids of topics, and figures that grow between one call and the next.
CHANGING: Final = re.compile(r"(?<=TopicId: )[\w-]{22}|(?<=HighWatermark:)\s+\d+|(?<=Epoch: )\d+")


@dataclass(frozen=True)
class Result:
    """What a tool left: exit code, lines of output in alphabetical order, and the errors that it named."""

    code: int
    lines: list[str]
    errors: set[str]


class Twins:
    """Runs a command line with both tools; `NAME` in it is a name that each side has for itself."""

    def __init__(self, java: JavaClient, capsys: pytest.CaptureFixture[str], base: str) -> None:
        self._java = java
        self._capsys = capsys
        self._names = (f"{base}-apache", f"{base}-ottla")

    def __call__(self, tool: str, *arguments: str, shows: str = "") -> Result:
        """The result that both agree on; it shows what it must as soon as the servers have got so far."""

        def look() -> tuple[Result, Result]:
            return self._run(0, tool, arguments), self._run(1, tool, arguments)

        def is_there(results: tuple[Result, Result]) -> bool:
            return all(shows in "\n".join(result.lines) for result in results)

        apache, ottla = eventually(look, is_there) if shows else look()
        assert ottla == apache
        return ottla

    def _run(self, side: int, tool: str, arguments: tuple[str, ...]) -> Result:
        name = self._names[side]
        command = ["--bootstrap-server", self._java.bootstrap, *(text.replace("NAME", name) for text in arguments)]
        if side == 0:
            printed = self._java.tool(CLASSES[tool], *command)
            code, out, err = printed.code, printed.out, printed.err
        else:
            self._capsys.readouterr()
            try:
                code = main([tool, *command])
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else -1
            out, err = self._capsys.readouterr()
        named = set(re.findall(r"org\.apache\.kafka\.common\.errors\.\w+", err))
        text = CHANGING.sub("...", out.replace(name, "NAME"))
        # Apache's settings of a topic come in the order of a hash table.
        text = re.sub(r"(?<=Configs: ).+", lambda found: ",".join(sorted(found[0].split(","))), text)
        return Result(int(code), sorted(text.splitlines()), named)


@pytest.fixture
def twins(java: JavaClient, capsys: pytest.CaptureFixture[str], fresh_name: Callable[[], str]) -> Twins:
    return Twins(java, capsys, fresh_name())


def test_topics_live_the_same_life(twins: Twins) -> None:
    topics = "kafka-topics"
    create = ("--create", "--topic", "NAME", "--partitions", "2", "--config", "retention.ms=5000")
    assert twins(topics, *create).lines == ["Created topic NAME."]
    twins(topics, "--list", "--topic", "NAME.*", shows="NAME")
    described = twins(topics, "--describe", "--topic=NAME", shows="PartitionCount: 2")
    assert len(described.lines) == 3
    twins(
        topics, "--describe", "--topic", "NAME", "--partition-size-limit-per-response", "1", shows="PartitionCount: 2"
    )
    twins(topics, "--describe", "--topic", "NAME", "--topics-with-overrides", shows="retention.ms=5000")
    assert len(twins(topics, "--describe", "--topic", "NAME", "--at-min-isr-partitions", shows="Isr: 1").lines) == 2
    for nothing in ("--under-replicated-partitions", "--unavailable-partitions", "--under-min-isr-partitions"):
        assert twins(topics, "--describe", "--topic", "NAME", nothing).lines == []
    assert twins(topics, "--alter", "--topic", "NAME", "--partitions", "4").lines == []
    twins(topics, "--describe", "--topic", "NAME", shows="PartitionCount: 4")
    node = twins(topics, "--describe", "--topic", "NAME", shows="Partition: 3").lines[0].split("Leader: ")[1].split()[0]
    more = ",".join([node] * 5)
    assert twins(topics, "--alter", "--topic", "NAME", "--partitions", "5", "--replica-assignment", more).code == 0
    twins(topics, "--describe", "--topic", "NAME", shows="PartitionCount: 5")
    assert twins(topics, "--delete", "--topic", "NAME").lines == []
    assert twins(topics, "--create", "--topic", "NAME.x", "--replica-assignment", f"{node},{node}").code == 0
    twins(topics, "--describe", "--topic", "NAME.x", shows="PartitionCount: 2")


@pytest.mark.parametrize(
    "arguments",
    [
        "--create --topic {taken}",
        "--create --topic {taken} --if-not-exists",
        "--create --topic NAME --replication-factor 9",
        "--create --topic NAME --partitions 0",
        "--create --topic NAME --config bad=1",
        "--create --topic NAME --config bad",
        "--create --topic NAME/",
        "--create --topic NAME --replica-assignment 4711",
        "--create --topic NAME --replica-assignment 1:1",
        "--create --topic NAME --replica-assignment 1:2,1",
        "--alter --topic {taken} --partitions 1",
        "--alter --topic nowhere --partitions 4",
        "--alter --topic nowhere --partitions 4 --if-exists",
        "--delete --topic nowhere",
        "--delete --topic nowhere --if-exists",
        "--describe --topic nowhere",
        "--describe --topic nowhere --if-exists",
        "--describe --topic-id 0gbGzpQ6TQWzoHzDWr_8oA",
        "--list --topic nowhere",
    ],
)
def test_topics_are_refused_in_the_same_words(twins: Twins, new_topic: Callable[..., str], arguments: str) -> None:
    twins("kafka-topics", *arguments.format(taken=new_topic()).split())


def test_settings_of_topics_change_the_same_way(twins: Twins) -> None:
    configs, topic = "kafka-configs", ("--entity-type", "topics", "--entity-name", "NAME")
    twins("kafka-topics", "--create", "--topic", "NAME")
    twins("kafka-topics", "--list", "--topic", "NAME", shows="NAME")
    change = "retention.ms=5000,cleanup.policy=[compact,delete]"
    assert twins(configs, "--alter", *topic, "--add-config", change).lines == [
        "Completed updating config for topic NAME."
    ]
    twins(configs, "--describe", "--topic", "NAME", shows="cleanup.policy=compact,delete")
    assert len(twins(configs, "--describe", *topic, "--all", shows="retention.ms=5000").lines) > 30
    edit = ("--delete-config", "retention.ms,nothing", "--add-config", "segment.bytes=2097152")
    assert twins(configs, "--alter", *topic, *edit).code == 0
    twins(configs, "--describe", *topic, shows="segment.bytes=2097152")
    assert twins(configs, "--alter", *topic, "--add-config", "bad=1").errors
    assert twins(configs, "--alter", "--topic", "nowhere", "--add-config", "retention.ms=1").errors
    assert "doesn't exist" in twins(configs, "--describe", "--topic", "nowhere").lines[0]


def test_settings_of_brokers_groups_and_metrics_change_the_same_way(twins: Twins, tmp_path: Path) -> None:
    configs, name = "kafka-configs", "log.cleaner.backoff.ms"
    assert twins(configs, "--alter", "--broker-defaults", "--add-config", f"{name}=19000").lines == [
        "Completed updating default config for brokers in the cluster."
    ]
    twins(configs, "--describe", "--broker-defaults", shows=f"{name}=19000")
    twins(configs, "--describe", "--entity-type", "brokers", shows=f"{name}=19000")
    delete = ("--delete-config", name)
    assert twins(configs, "--alter", "--entity-type", "brokers", "--entity-default", *delete).code == 0
    assert twins(configs, "--alter", "--broker-defaults", "--add-config", "log.dirs=/elsewhere").errors
    assert twins(configs, "--describe", "--broker", "4711").code == 0

    assert "doesn't exist" in twins(configs, "--describe", "--group", "NAME").lines[0]
    settings = tmp_path / "group.properties"
    settings.write_text("consumer.session.timeout.ms=50000\n")
    assert twins(configs, "--alter", "--group", "NAME", "--add-config-file", str(settings)).code == 0
    twins(configs, "--describe", "--group", "NAME", shows="consumer.session.timeout.ms=50000")
    metrics = "interval.ms=1000,metrics=[a,b],match=[client_id=x]"
    assert twins(configs, "--alter", "--client-metrics", "NAME", "--add-config", metrics).lines == [
        "Completed updating config for client-metric NAME."
    ]
    twins(configs, "--describe", "--client-metrics", "NAME", shows="metrics=a,b")


def offers(twins: Twins, api: str) -> bool:
    return any(line.startswith(f"\t{api}(") and "usable" in line for line in twins("kafka-broker-api-versions").lines)


def test_quotas_and_credentials_change_the_same_way_where_they_are_served(twins: Twins) -> None:
    configs, user = "kafka-configs", ("--entity-type", "users", "--entity-name", "NAME")
    if not offers(twins, "AlterClientQuotas"):
        refused = twins(configs, "--alter", *user, "--add-config", "producer_byte_rate=1024")
        assert refused.errors == {"org.apache.kafka.common.errors.UnsupportedVersionException"}
        return
    assert twins(configs, "--alter", *user, "--add-config", "producer_byte_rate=10485760").lines == [
        "Completed updating config for user NAME."
    ]
    twins(configs, "--describe", "--user", "NAME", shows="producer_byte_rate=1.048576E7")
    both = ("--user", "NAME", "--client", "NAME")
    assert twins(configs, "--alter", *both, "--add-config", "request_percentage=5").lines == [
        "Completed updating config for client NAME."
    ]
    twins(configs, "--describe", *both, shows="user-principal 'NAME', client-id 'NAME' are request_percentage=5.0")
    scram = "SCRAM-SHA-256=[iterations=4096,password=secret]"
    assert twins(configs, "--alter", "--user", "NAME", "--add-config", scram).code == 0
    twins(configs, "--describe", "--user", "NAME", shows="SCRAM-SHA-256=iterations=4096")
    assert twins(configs, "--alter", "--user", "NAME", "--delete-config", "SCRAM-SHA-256").code == 0
    assert twins(configs, "--alter", "--user", "NAME", "--delete-config", "SCRAM-SHA-256").code == 1
    assert twins(configs, "--alter", "--user", "NAME", "--delete-config", "producer_byte_rate").code == 0
    assert twins(configs, "--alter", "--user", "NAME", "--delete-config", "consumer_byte_rate").code == 1
    address = ("--entity-type", "ips", "--entity-default")
    assert twins(configs, "--alter", *address, "--add-config", "connection_creation_rate=500").lines == [
        "Completed updating default config for ips in the cluster."
    ]
    twins(configs, "--describe", "--ip-defaults", shows="Quota configs for the default ip are")


def test_the_cluster_is_described_in_the_same_words(twins: Twins) -> None:
    assert len(twins("kafka-broker-api-versions").lines) > 70
    assert len(twins("kafka-metadata-quorum", "describe", "--status").lines) == 8
    assert len(twins("kafka-features", "describe").lines) >= 7
    for wrong in (("describe",), ("describe", "--status", "--human-readable"), ("add-controller",)):
        assert twins("kafka-metadata-quorum", *wrong).code == 1
    voter = ("--controller-id", "5", "--controller-directory-id", "AAAAAAAAAAAAAAAAAAAABQ")
    assert twins("kafka-metadata-quorum", "remove-controller", *voter, "--dry-run").code == 0
    assert twins("kafka-metadata-quorum", "remove-controller", *voter).errors


def test_replication_of_metadata_has_the_same_columns(java: JavaClient, capsys: pytest.CaptureFixture[str]) -> None:
    command = ("--bootstrap-server", java.bootstrap, "describe", "--replication")
    apache = java.tool(CLASSES["kafka-metadata-quorum"], *command).out
    assert main(["kafka-metadata-quorum", *command]) == 0
    # Offsets and times grow in between.
    assert re.sub(r"\d{3,}", "N", capsys.readouterr().out) == re.sub(r"\d{3,}", "N", apache)


def test_features_change_the_same_way(twins: Twins) -> None:
    features = "kafka-features"
    twins(features, "version-mapping")
    twins(features, "version-mapping", "--release-version", "4.0")
    twins(features, "feature-dependencies", "--feature", "eligible.leader.replicas.version=1")
    assert twins(features, "upgrade", "--feature", "group.version").code == 1
    assert twins(features, "upgrade", "--feature", "transaction.version=2", "--dry-run").lines == [
        "transaction.version can be upgraded to 2."
    ]
    assert twins(features, "upgrade", "--metadata", "4.3-IV0").code == 0
    assert twins(features, "upgrade", "--feature", "bogus=1", "--feature", "transaction.version=2").code == 1
    assert twins(features, "downgrade", "--metadata", "3.7-IV0").code == 1
    assert twins(features, "disable", "--feature", "share.version", "--dry-run").code == 0


def test_log_directories_are_the_same_json(
    java: JavaClient, new_topic: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("--bootstrap-server", java.bootstrap, "--describe", "--topic-list", f"{new_topic(2)},nowhere")

    def described() -> list[str]:
        assert main(["kafka-log-dirs", *command]) == 0
        return capsys.readouterr().out.splitlines()

    # A broker may make the directories of a new topic a moment after it has answered.
    eventually(described, lambda lines: lines[2].count('"partition"') == 2)
    apache = java.tool(CLASSES["kafka-log-dirs"], *command).out.splitlines()
    ottla = described()
    assert ottla[:2] == apache[:2]

    def sorted_partitions(line: str) -> str:
        answer = json.loads(line)
        for directory in answer["brokers"][0]["logDirs"]:
            directory["partitions"].sort(key=lambda row: row["partition"])
        return json.dumps(answer)

    assert len(ottla[2]) == len(apache[2])
    assert sorted_partitions(ottla[2]) == sorted_partitions(apache[2])
