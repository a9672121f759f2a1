from pathlib import Path

import pytest

from ottla.cli.kafka.server.start import main


@pytest.mark.parametrize(
    ("text", "overrides", "missing"),
    [
        ("log.dirs=/nowhere", (), "process.roles"),
        ("node.id=1", (), "process.roles"),
        ("process.roles=broker,controller", (), "node.id"),
        ("process.roles=broker,controller\nnode.id=", (), "node.id"),
        ("node.id=1", ("--override", "process.roles="), "process.roles"),
    ],
)
@pytest.mark.parametrize("switch", [(), ("-daemon",)], ids=["here", "daemon"])
def test_a_file_that_does_not_say_what_it_is_starts_nothing(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    overrides: tuple[str, ...],
    missing: str,
    switch: tuple[str, ...],
) -> None:
    path = tmp_path / "server.properties"
    path.write_text(text + "\n")
    assert main([*switch, str(path), *overrides]) == 1
    assert f'Missing required configuration "{missing}"' in capsys.readouterr().err


@pytest.mark.parametrize("name", ["node.id", "broker.id"])
def test_what_an_override_says_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    path = tmp_path / "server.properties"
    path.write_text("process.roles=broker,controller\nlisteners=SSL://127.0.0.1:0\n")
    assert main([str(path), "--override", f"{name}=1"]) == 1
    assert "asks for SSL" in capsys.readouterr().err, "it got so far"
