import argparse

import pytest

from ottla.cli.kafka.server.stop import is_chosen
from ottla.cli.server.processes import ServerProcess


@pytest.mark.parametrize(
    ("node_id", "role", "is_meant"),
    [
        (None, None, True),
        ("7", None, True),
        ("8", None, False),
        (None, "broker", True),
        (None, "controller", False),
        ("7", "controller", True),
    ],
)
def test_a_server_is_chosen_by_id_or_role(node_id: str | None, role: str | None, is_meant: bool) -> None:
    process = ServerProcess(1, ("--override", "node.id=7", "--override", "process.roles=broker"))
    assert is_chosen(process, argparse.Namespace(node_id=node_id, process_role=role)) == is_meant


def test_a_server_without_a_file_is_node_1_with_both_roles() -> None:
    process = ServerProcess(1, ("--data", "d"))
    assert is_chosen(process, argparse.Namespace(node_id="1", process_role=None))
    assert is_chosen(process, argparse.Namespace(node_id=None, process_role="controller"))
