from pathlib import Path

import pytest

from ottla.cli.exits import CommandError
from ottla.cli.kafka.quorum.controller_identity import read_controller
from ottla.cli.kafka.quorum.metadata_quorum import main, replication_text, status_text
from ottla.client.addresses import Address
from ottla.client.admin.brokers import QuorumDescription, QuorumReplica
from ottla.protocol.uuids import uuid_to_text
from ottla.storage.file_system import OsFileSystem
from ottla.storage.meta_properties import MetaProperties, write_meta_properties

DIRECTORY = bytes(15) + b"\x05"
QUORUM = QuorumDescription(
    1,
    4,
    100,
    (QuorumReplica(1, DIRECTORY, 100, 5_000, 5_000), QuorumReplica(2, bytes(16), 90, 4_900, 4_000)),
    (QuorumReplica(7, bytes(16), 99),),
    {1: {"CONTROLLER": Address("h", 9093)}},
)


def test_the_status_tells_what_is_known_of_each_voter() -> None:
    assert status_text("abc", QUORUM).splitlines() == [
        "ClusterId:              abc",
        "LeaderId:               1",
        "LeaderEpoch:            4",
        "HighWatermark:          100",
        "MaxFollowerLag:         10",
        "MaxFollowerLagTimeMs:   1000",
        'CurrentVoters:          [{"id": 1, "directoryId": "AAAAAAAAAAAAAAAAAAAABQ", "endpoints": '
        '["CONTROLLER://h:9093"]}, {"id": 2}]',
        'CurrentObservers:       [{"id": 7}]',
    ]


def test_replication_is_a_table_with_tabs_between_its_columns() -> None:
    header, *rows = [line.split("\t") for line in replication_text(QUORUM, None).splitlines()]
    assert [cell.strip() for cell in header][:3] == ["NodeId", "DirectoryId", "LogEndOffset"]
    assert [[row[0].strip(), row[3].strip(), row[4].strip(), row[6].strip()] for row in rows] == [
        ["1", "0", "5000", "Leader"],
        ["2", "10", "4900", "Follower"],
        ["7", "1", "-1", "Observer"],
    ]
    assert {len(line) for line in replication_text(QUORUM, None).splitlines()} == {len("\t".join(header))}


def test_people_read_times_as_how_long_ago_they_were() -> None:
    text = replication_text(QUORUM, 6_000)
    assert "1000 ms ago" in text
    assert "unknown" in text


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["describe"], "One of --status or --replication"),
        (["describe", "--status", "--replication"], "Only one of --status or --replication"),
        (["describe", "--status", "--human-readable"], "only supported along with --replication"),
        (["add-controller"], "You must supply the configuration file"),
        (
            ["remove-controller", "--controller-id", "1", "--controller-directory-id", "x"],
            "Failed to parse --controller-directory-id",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--bootstrap-server", "127.0.0.1:1", *arguments]) == 1
    assert reason in capsys.readouterr().err


@pytest.fixture
def controller(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    write_meta_properties(OsFileSystem(data), data, MetaProperties("cluster", 3, DIRECTORY))
    file = tmp_path / "controller.properties"
    file.write_text(
        f"process.roles=controller\nnode.id=3\nlog.dirs={data}\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://h:1,CONTROLLER://h:9093\n"
    )
    return file


def test_a_controller_is_known_by_its_file_and_its_directory(
    controller: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--bootstrap-server", "127.0.0.1:1", "--command-config", str(controller)]
    assert main([*command, "add-controller", "--dry-run"]) == 0
    assert capsys.readouterr().out == (
        f"DRY RUN of adding controller 3 with directory id {uuid_to_text(DIRECTORY)} "
        "and endpoints: CONTROLLER://h:9093\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("=controller", "=broker", "process.roles did not contain 'controller'"),
        ("node.id=3", "", "node.id not found"),
        ("log.dirs", "other", "neither metadata.log.dir nor log.dirs"),
        ("/data", "/elsewhere", "Unable to read meta.properties"),
        (",CONTROLLER://h:9093", "", "No controller listener found"),
        ("h:9093", "h:none", "'none' is not a port"),
    ],
)
def test_a_file_that_is_no_controllers_is_told(controller: Path, before: str, after: str, reason: str) -> None:
    controller.write_text(controller.read_text().replace(before, after))
    with pytest.raises(CommandError, match=reason):
        read_controller(str(controller))
