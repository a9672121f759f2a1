"""The tutorial of a cluster, run as a reader would: three nodes, in a directory of its own, on ports in a row."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.documents import ROOT, run_document
from harness.ports import free_ports_in_a_row
from ottla.cli.cluster.local.cluster_directory import CONTROLLER_PORT_DISTANCE

SHOWN_PORTS = (19092, 19093, 19094)


@pytest.mark.timeout(240)
def test_the_tutorial_of_a_cluster_shows_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "tutorial" / "first-cluster.md").read_text(encoding="utf-8")
    # Controllers listen some ports higher than clients are served.
    ports = free_ports_in_a_row(len(SHOWN_PORTS), also_at=CONTROLLER_PORT_DISTANCE)
    for shown, port in zip(SHOWN_PORTS, ports, strict=True):
        text = text.replace(f"127.0.0.1:{shown}", f"127.0.0.1:{port}")
    monkeypatch.chdir(tmp_path)
    try:
        run_document(text, bootstrap="")
        assert list(tmp_path.iterdir()) == []
    finally:
        subprocess.run([sys.executable, "-m", "ottla", "cluster", "down"], capture_output=True, check=False)
