import argparse
import socket
from pathlib import Path

import pytest

from harness.http_answers import answer, answering
from ottla.cli.completion.cluster_names import TIMEOUT_VARIABLE, group_names, subject_names, topic_names
from ottla.client import NewTopic
from ottla.client.sync import Client
from ottla.testing import EmbeddedCluster


def options(bootstrap: str, **more: object) -> argparse.Namespace:
    return argparse.Namespace(bootstrap_server=bootstrap, **more)


def test_topics_are_those_of_the_cluster_and_internal_ones_for_who_asks(
    ottla_cluster: EmbeddedCluster, ottla_topic: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(TIMEOUT_VARIABLE, "60000")
    with Client(ottla_cluster.bootstrap_servers) as client:
        client.admin.create_topics([NewTopic("__consumer_offsets", partitions=1, replication_factor=1)])
    there = options(ottla_cluster.bootstrap_servers)
    assert ottla_topic in topic_names(prefix="", parsed_args=there)
    assert "__consumer_offsets" not in topic_names(prefix="", parsed_args=there)
    assert "__consumer_offsets" in topic_names(prefix="__", parsed_args=there)
    assert group_names(parsed_args=there) == []
    properties = tmp_path / "client.properties"
    properties.write_text(f"bootstrap.servers={ottla_cluster.bootstrap_servers}\n")
    named = argparse.Namespace(bootstrap_server=None, command_config=str(properties))
    assert ottla_topic in topic_names(prefix="", parsed_args=named)


@pytest.mark.parametrize("bootstrap", ["127.0.0.1:1", "127.0.0.1:99999", "no-such-host.invalid:9092"])
def test_a_cluster_that_is_not_there_has_no_names_and_nothing_is_said(
    bootstrap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert topic_names(prefix="", parsed_args=options(bootstrap)) == []
    assert capsys.readouterr() == ("", "")


def test_a_cluster_that_does_not_answer_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TIMEOUT_VARIABLE, "200")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        there = options(f"127.0.0.1:{silent.getsockname()[1]}")
        assert group_names(parsed_args=there) == []


def test_subjects_are_those_of_the_registry(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(TIMEOUT_VARIABLE, "60000")
    with answering(lambda _: answer(["orders-value"])) as registry:
        assert subject_names(parsed_args=argparse.Namespace(registry=registry.url)) == ["orders-value"]
        monkeypatch.setenv("OTTLA_SCHEMA_REGISTRY_URL", registry.url)
        assert subject_names(parsed_args=argparse.Namespace()) == ["orders-value"]
    assert subject_names(parsed_args=argparse.Namespace(registry="http://127.0.0.1:1")) == []
    assert capsys.readouterr() == ("", "")
