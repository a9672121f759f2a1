"""kafka-python's own integration tests, from its source distribution, run against a server that is already there."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from harness.downloads import downloaded
from harness.librdkafka import run_bounded

# What the suite gives to the servers that it starts itself.
SETTINGS = {
    "node.id": "0",
    "advertised.listeners": "PLAINTEXT://{bootstrap}",
    "group.min.session.timeout.ms": "1000",
}

# On several brokers these pass or fail by chance, Kafka's or ours: one names a broker that may not have the topic, the
# other wants the records of all partitions from one poll.
ASSUME_ONE_BROKER = ("test_alter_replica_log_dirs", "test_delete_records")

TEST_TIMEOUT_S = 120

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


def lay_out(home: Path) -> None:
    shutil.copytree(downloaded("kafka-python-suite") / "test", home / "test", dirs_exist_ok=True)
    (home / "test" / "service.py").write_text(SERVICE)
    # Or Python's own package `test` would be found first.
    (home / "test" / "__init__.py").touch()
    (home / "servers" / "4.3.0" / "kafka-bin").mkdir(parents=True, exist_ok=True)
    (home / "pytest.ini").write_text("[pytest]\n")


def files() -> list[str]:
    """The files of the suite, without the one that needs a TLS server of its own making."""
    found = (downloaded("kafka-python-suite") / "test" / "integration").glob("test_*_integration.py")
    return sorted(path.name for path in found if "ssl" not in path.name)


def run_file(name: str, bootstrap: str, home: Path, timeout_s: float) -> Mapping[str, str]:
    """Test to "passed", "failed" or "skipped"; nothing when pytest came to grief. What it said is in <name>.log."""
    lay_out(home)
    report = home / f"{name}.xml"
    environment = {
        **os.environ,
        "PYTHONPATH": f"{home}:{downloaded('kafka-python-suite')}",
        # The suite wants one address; its clients find the other brokers.
        "KAFKA_URI": f"kafka://{bootstrap.partition(',')[0]}",
        "KAFKA_VERSION": "4.3.0",
    }
    command = [sys.executable, "-m", "pytest", "-q", f"--timeout={TEST_TIMEOUT_S}", f"--junit-xml={report}"]
    with (home / f"{name}.log").open("wb") as output:
        run_bounded([*command, f"test/integration/{name}"], home, environment, output, timeout_s)
    return dict(_outcomes(report)) if report.exists() else {}


def _outcomes(report: Path) -> Iterator[tuple[str, str]]:
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        state = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        yield case.attrib["name"], state
