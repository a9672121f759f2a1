"""What `make run LISTEN=...` says about an address that cannot be served."""

import subprocess
import sys
from pathlib import Path

import pytest

RUN_NODE = Path(__file__).resolve().parents[2] / "tools" / "run_node.py"


@pytest.mark.parametrize(
    ("listen", "message"),
    [
        ("here", "--listen here: write HOST:PORT"),
        ("127.0.0.1:99999", "--listen 127.0.0.1:99999: port 99999 is too large: ports go from 1 to 65535."),
        ("no-such-host.invalid:9092", "--listen no-such-host.invalid:9092: the host is not known"),
    ],
)
def test_an_address_that_cannot_be_served_is_named(listen: str, message: str, tmp_path: Path) -> None:
    command = [sys.executable, str(RUN_NODE), "--listen", listen, "--data", str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
