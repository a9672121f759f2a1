import pytest

from ottla.metadata.format import plan_format
from ottla.metadata.snapshot import read_snapshot
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.raft import ReplicaKey, Voter, VoterEndpoint, VoterSet

VOTERS = VoterSet((Voter(ReplicaKey(1, b"d" * 16), (VoterEndpoint("CONTROLLER", "localhost", 9093),)),))


def test_a_new_cluster_starts_at_the_newest_metadata_version_with_unserved_features_off() -> None:
    plan = plan_format(given_cluster_id=None, random_uuid=b"r" * 16, voters=VOTERS, now_ms=5)
    contents = read_snapshot(plan.files["bootstrap.checkpoint"])
    assert contents.records == (
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1),
        FeatureLevelRecord(name="transaction.version", feature_level=2),
    )


def test_the_first_snapshot_names_the_voters() -> None:
    plan = plan_format(given_cluster_id=None, random_uuid=b"r" * 16, voters=VOTERS, now_ms=5)
    name = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
    contents = read_snapshot(plan.files[name])
    assert (contents.voters, contents.kraft_version) == (VOTERS, 1)


def test_a_static_quorum_needs_no_first_snapshot() -> None:
    plan = plan_format(given_cluster_id=None, random_uuid=b"r" * 16, voters=None, now_ms=5)
    assert list(plan.files) == ["bootstrap.checkpoint"]


def test_a_cluster_id_is_given_or_random() -> None:
    given = "MkU3OEVBNTcwNTJENDM2Qg"
    assert plan_format(given_cluster_id=given, random_uuid=b"r" * 16, voters=None, now_ms=5).cluster_id == given
    random = plan_format(given_cluster_id=None, random_uuid=b"r" * 16, voters=None, now_ms=5)
    assert random.cluster_id == "cnJycnJycnJycnJycnJycg"


def test_a_cluster_id_without_text_is_refused() -> None:
    with pytest.raises(ValueError, match="the cluster id is empty"):
        plan_format(given_cluster_id=" ", random_uuid=b"r" * 16, voters=None, now_ms=5)
