from pathlib import Path

import pytest

from harness.ports import free_port
from ottla.cli.cluster.local import cluster_directory
from ottla.cli.cluster.local.interruption import Progress, left_over, telling_what_is_left
from ottla.cli.exits import CommandError, ExitCode


def test_each_node_is_told_once_with_others_like_it() -> None:
    assert left_over([1, 2, 3, 4], {1, 2, 3}, {3}) == (
        "Node 1, 2 run or start; node 3 is stopping; node 4 does not run"
    )
    assert left_over([1, 2], set(), {1, 2}) == "Node 1, 2 do not run"
    assert left_over([1], {1}, set()) == "Node 1 runs or starts"


def test_ctrl_c_before_anything_was_made_says_so(tmp_path: Path) -> None:
    with (
        pytest.raises(CommandError, match=r"^interrupted\. Nothing runs yet$") as told,
        telling_what_is_left(tmp_path / "cluster", Progress("Try again.")),
    ):
        raise KeyboardInterrupt
    assert (told.value.code, told.value.remedy) == (ExitCode.INTERRUPTED, "Try again.")


def test_ctrl_c_tells_of_nodes_that_do_not_run_and_what_the_command_wants_to_be_told(tmp_path: Path) -> None:
    root = tmp_path / "cluster"
    cluster_directory.create(root, 1, f"127.0.0.1:{free_port()}", {})
    progress = Progress("at first")
    with (
        pytest.raises(CommandError, match=r"^interrupted\. Node 1 does not run$") as told,
        telling_what_is_left(root, progress),
    ):
        progress.remedy = "at last"
        raise KeyboardInterrupt
    assert told.value.remedy == "at last"
