"""The wheel in fresh environments, without and with each extra: what the README shows works there."""

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from harness.distribution import ROOT, Distribution, Environment, make_environment
from harness.documents import BLOCK, SHOWN_ADDRESS
from harness.installed_server import InstalledServer
from harness.servers import Server
from harness.waiting import eventually

README = (ROOT / "README.md").read_text(encoding="utf-8")
# PySpark alone is 450 MB.
INSTALL_TIMEOUT_S = 900

pytestmark = pytest.mark.timeout(INSTALL_TIMEOUT_S)

Install = Callable[[str], Environment]
Start = Callable[..., Server]


@pytest.fixture
def install(distribution: Distribution, tmp_path: Path) -> Iterator[Install]:
    """Environments with the wheel and an extra of it; they are removed at once: pytest would keep gigabytes."""
    with ExitStack() as removing:

        def install_extra(extra: str) -> Environment:
            environment = make_environment(tmp_path / "environment")
            removing.callback(shutil.rmtree, environment.home)
            environment.install("-q", f"{distribution.wheel}{extra}", "confluent-kafka")
            return environment

        yield install_extra


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as stopping:

        def start_node(environment: Environment, overrides: dict[str, str] | None = None) -> Server:
            # As a reader has it: one partition for topics that appear by themselves.
            server = InstalledServer(tmp_path, environment, {"num.partitions": "1"} | (overrides or {}))
            stopping.callback(server.close)
            server.start()
            return server

        yield start_node


def run_snippet(environment: Environment, server: Server) -> str:
    """What the README's Python prints."""
    (code,) = [block for language, block in BLOCK.findall(README) if language == "python"]
    return environment.run(str(environment.python), "-c", code.replace(SHOWN_ADDRESS, server.bootstrap))


def run_command(environment: Environment, server: Server, beginning: str) -> str:
    """What a command of the README prints."""
    (line,) = re.findall(rf"^({beginning} .*?)(?:    #.*)?$", README, re.MULTILINE)
    program, *arguments = shlex.split(line)
    assert program == "ottla"
    return environment.run("env", f"OTTLA_BOOTSTRAP_SERVERS={server.bootstrap}", str(environment.ottla), *arguments)


def test_the_wheel_alone_serves_what_the_readme_shows(install: Install, start: Start) -> None:
    environment = install("")
    server = start(environment)
    assert run_snippet(environment, server) == "dobrý den\n"
    assert run_command(environment, server, "ottla consume greetings") == "greetings/0@0 cs: dobrý den\n"
    assert server.stop() == 0


def test_the_wheel_alone_compacts_and_the_node_itself_does_without_numpy(install: Install, start: Start) -> None:
    server = start(install(""), {"log.cleaner.backoff.ms": "100"})
    configs = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.bytes": "1048576"}
    admin = AdminClient({"bootstrap.servers": server.bootstrap})
    admin.create_topics([NewTopic("map", 1, config=configs)])["map"].result()
    producer = Producer({"bootstrap.servers": server.bootstrap, "batch.num.messages": 1})
    for number in range(30):
        producer.produce("map", key=b"key", value=bytes([number]) * 100_000)
    assert producer.flush(60) == 0

    def log_bytes() -> int:
        sizes = 0
        for path in server.partition_directory("map", 0).glob("*.log"):
            # A segment may be gone by now.
            sizes += path.stat().st_size if path.exists() else 0
        return sizes

    # Only what the last segment holds is left of them, and no segment takes more than a megabyte.
    eventually(log_bytes, lambda size: size < 1_500_000, timeout_s=60)
    maps = Path(f"/proc/{server.pid}/maps")
    assert not maps.exists() or "numpy" not in maps.read_text()


def test_the_extra_arrow_gives_columns(install: Install, start: Start) -> None:
    environment = install("[arrow]")
    server = start(environment)
    assert run_snippet(environment, server) == "dobrý den\n"
    code = (
        "from ottla.client.sync import Client\n"
        "from ottla.client.columns import batches_to_columns\n"
        f"with Client({server.bootstrap!r}) as client:\n"
        "    fetched = client.fetch_batches('greetings', 0, offset=0)\n"
        "print(batches_to_columns(fetched.batches).column('value').to_pylist())\n"
    )
    assert environment.run(str(environment.python), "-c", code) == f"{['dobrý den'.encode()]}\n"


def test_the_extra_spark_runs_a_pipeline(install: Install, start: Start) -> None:
    environment = install("[spark]")
    server = start(environment)
    assert run_snippet(environment, server) == "dobrý den\n"
    run_command(environment, server, "ottla pipeline copy")
    consume = ["consume", "shouted", "-b", server.bootstrap, "-e", "-f", "%s\\n"]
    assert environment.run(str(environment.ottla), *consume) == "DOBRÝ DEN\n"
