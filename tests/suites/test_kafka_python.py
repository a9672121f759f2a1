"""kafka-python's own integration tests, from its source distribution.

Left out are the tests of ACLs, transactions, elections and reassignments, and the files for TLS and SASL.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.downloads import downloaded
from harness.servers import Server

NOT_YET = "not acls and not transactional and not elect_leaders and not partition_reassignments"

# The source distribution lacks this module; against a server that is already running, nothing of it is needed.
SERVICE = """
class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self):
        pass

    def close(self):
        pass

    def dump_logs(self):
        pass

    def wait_for(self, pattern, timeout=30):
        pass


class SpawnedService:
    pass
"""


@pytest.mark.timeout(600)
def test_the_integration_tests_pass(
    start_server: Callable[..., Server], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # What the suite gives to the servers that it starts itself.
    server = start_server(
        {
            "node.id": "0",
            "advertised.listeners": "PLAINTEXT://{bootstrap}",
            "group.min.session.timeout.ms": "1000",
        }
    )
    suite = downloaded("kafka-python-suite")
    shutil.copytree(suite / "test", tmp_path / "test")
    (tmp_path / "test" / "service.py").write_text(SERVICE)
    # Or Python's own package `test` would be found first.
    (tmp_path / "test" / "__init__.py").touch()
    (tmp_path / "servers" / "4.3.0" / "kafka-bin").mkdir(parents=True)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    files = [f"test/integration/test_{name}_integration.py" for name in ("admin", "consumer", "producer")]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tmp_path}:{suite}",
        "KAFKA_URI": f"kafka://{server.bootstrap}",
        "KAFKA_VERSION": "4.3.0",
    }
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=120", "-k", NOT_YET, "--show-capture=no", *files]
    with capfd.disabled():
        done = subprocess.run(command, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0
