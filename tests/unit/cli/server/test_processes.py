from pathlib import Path

import pytest

from ottla.cli.server.processes import ServerProcess, server_arguments, server_properties


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("/usr/bin/python3 -m ottla server --data d", ("--data", "d")),
        ("python -X dev -m ottla.cli.main server s.properties", ("s.properties",)),
        ("/opt/venv/bin/python /opt/venv/bin/ottla kafka-server-start s.properties", ("s.properties",)),
        ("/opt/venv/bin/ottla server", ()),
    ],
)
def test_servers_are_known_by_their_command_line(line: str, arguments: tuple[str, ...]) -> None:
    assert server_arguments(line.split()) == arguments


@pytest.mark.parametrize(
    "line",
    ["vi ottla server", "python -m ottla topics list", "grep -r x ottla server", "python -m other server", "ottla", ""],
)
def test_other_processes_are_no_servers(line: str) -> None:
    assert server_arguments(line.split()) is None


def test_overrides_are_stronger_than_the_file(tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text("node.id=4\nprocess.roles=broker\n")
    process = ServerProcess(1, (str(config), "--override", "node.id=5", "--override=log.dirs=/d"))
    assert server_properties(process) == {"node.id": "5", "process.roles": "broker", "log.dirs": "/d"}
    assert server_properties(ServerProcess(1, ("/no/such/file",))) is None
