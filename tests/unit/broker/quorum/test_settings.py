"""What the file says reaches the quorum."""

from pathlib import Path

from ottla.broker.quorum import MetadataQuorumSettings
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.raft import QuorumSettings


def settings(**given: str) -> MetadataQuorumSettings:
    named = {name.replace("_", "."): value for name, value in given.items()}
    return MetadataQuorumSettings.of(BrokerConfig(single_node_defaults(Path("/data"), "127.0.0.1:9092") | named))


def test_the_defaults_are_kafkas() -> None:
    assert settings() == MetadataQuorumSettings()
    assert settings().raft == QuorumSettings()


def test_every_setting_of_the_quorum_acts() -> None:
    assert settings(
        controller_quorum_election_timeout_ms="1",
        controller_quorum_election_backoff_max_ms="2",
        controller_quorum_fetch_timeout_ms="3",
        controller_quorum_request_timeout_ms="4",
        controller_quorum_retry_backoff_ms="5",
        controller_quorum_fetch_max_bytes="6",
        controller_quorum_fetch_snapshot_max_bytes="7",
    ).raft == QuorumSettings(
        election_timeout_ms=1,
        election_backoff_max_ms=2,
        fetch_timeout_ms=3,
        request_timeout_ms=4,
        retry_backoff_ms=5,
        fetch_max_bytes=6,
        fetch_snapshot_max_bytes=7,
    )
