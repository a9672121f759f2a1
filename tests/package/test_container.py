"""The image: its Dockerfile's own steps in a plain Debian system, and what they leave, run as an engine runs it.

There is no container engine in it, since none can be taken for granted. What an engine does with these steps, this
does: a stage is a copy of Debian, RUN runs in it, and the last one runs without root and without a way to gain it.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path, PurePosixPath

import pytest
import yaml

from harness.debian_root import PATH, DebianRoot, debian_system, running_root
from harness.distribution import ROOT
from harness.dockerfile import Instruction, Stage, parse_dockerfile
from harness.documents import BLOCK
from harness.waiting import eventually

CONTAINER = ROOT / "packaging" / "container"
STAGES = parse_dockerfile((CONTAINER / "Dockerfile").read_text(encoding="utf-8"))
COMPOSE = yaml.safe_load((CONTAINER / "compose.yaml").read_text(encoding="utf-8"))
DATA = "/var/lib/ottla"

pytestmark = pytest.mark.timeout(600)


class Container:
    """What the last stage left, started with a command or its own."""

    def __init__(self, system: DebianRoot, stage: Stage) -> None:
        self.system = system
        self._stage = stage
        self._process: subprocess.Popen[bytes] | None = None
        self.output = b""

    def command(self, *words: str) -> list[str]:
        """A command line inside, as the image's user, with nothing that could make it root."""
        user = self._stage.last("USER").rest
        drop = (
            "setpriv",
            f"--reuid={user}",
            f"--regid={user}",
            "--init-groups",
            "--no-new-privs",
            "--bounding-set=-all",
        )
        inside = ("env", f"--chdir={self._stage.last('WORKDIR').rest}", *words)
        return self.system.command(*drop, *inside, variables={"PATH": PATH} | self._stage.variables())

    def start(self, *arguments: str) -> None:
        words = self._stage.last("ENTRYPOINT").command() + (list(arguments) or self._stage.last("CMD").command())
        self._process = subprocess.Popen(self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        eventually(self.is_healthy, timeout_s=60)

    def execute(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*words), capture_output=True, text=True, check=False, timeout=60)

    def is_healthy(self) -> bool:
        assert self._process is None or self._process.poll() is None
        kind, _, check = self._stage.last("HEALTHCHECK").rest.partition(" ")
        assert kind == "CMD"
        return self.execute(*Instruction("CMD", {}, check).command()).returncode == 0

    def stop(self) -> int:
        assert self._process is not None
        number = signal.Signals[self._stage.last("STOPSIGNAL").rest]
        # nsenter waits for the process inside, which alone is to have the signal.
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for pid in children or [str(self._process.pid)]:
            os.kill(int(pid), number)
        self.output, _ = self._process.communicate(timeout=60)
        process, self._process = self._process, None
        return process.returncode

    def close(self) -> None:
        if self._process is not None:
            self.stop()


def copy(instruction: Instruction, stages: dict[str, DebianRoot], target: DebianRoot) -> None:
    *sources, to = instruction.words()
    origin = stages[instruction.flags["from"]].path if "from" in instruction.flags else ROOT
    for source in sources:
        found = origin / source.lstrip("/")
        place = target.path / to.lstrip("/")
        if found.is_dir():
            ignored = shutil.ignore_patterns("__pycache__") if origin == ROOT else None
            shutil.copytree(found, place, symlinks=True, ignore=ignored)
        else:
            place = place / PurePosixPath(source).name if to.endswith("/") else place
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(found, place)


def build(stage: Stage, stages: dict[str, DebianRoot], target: DebianRoot) -> None:
    for instruction in stage.instructions:
        if instruction.name == "COPY":
            copy(instruction, stages, target)
        elif instruction.name == "RUN":
            done = target.install(*instruction.command())
            assert done.returncode == 0, f"{instruction.rest}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DebianRoot]:
    base = debian_system("debian")
    home = tmp_path_factory.mktemp("image")
    stages: dict[str, DebianRoot] = {}
    with ExitStack() as ending:
        for number, stage in enumerate(STAGES):
            stages[stage.name] = ending.enter_context(running_root(base, home / f"stage-{number}"))
            build(stage, stages, stages[stage.name])
        yield stages[STAGES[-1].name]


@pytest.fixture
def container(image: DebianRoot) -> Iterator[Container]:
    running = Container(image, STAGES[-1])
    yield running
    running.close()


def test_it_is_built_on_the_system_that_the_tests_have(image: DebianRoot) -> None:
    release = (image.path / "etc" / "os-release").read_text()
    assert {stage.image for stage in STAGES} == {"debian:trixie-slim"}
    assert "VERSION_CODENAME=trixie" in release


def test_it_serves_the_readmes_snippet_to_the_machine_that_publishes_its_port(container: Container) -> None:
    container.start()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = [block for language, block in BLOCK.findall(readme) if language == "python"]
    client = container.system.on_its_network(sys.executable, "-c", code)
    said = subprocess.run(client, capture_output=True, text=True, check=False, timeout=60)
    assert said.stdout == "dobrý den\n", said
    assert container.stop() == 0, container.output


def test_it_runs_without_root_and_writes_to_its_volume_alone(container: Container) -> None:
    assert container.execute("id", "-un").stdout == "ottla\n"
    # -xdev leaves out what is mounted: /dev, /proc, /run.
    writable = container.execute("find", "/", "-xdev", "-writable", "-type", "d").stdout.split()
    assert {path for path in writable if not path.startswith((DATA, "/tmp", "/var/tmp"))} == set()
    assert DATA in writable
    assert STAGES[-1].last("VOLUME").rest == DATA


def test_its_entry_point_takes_every_command(container: Container) -> None:
    entry = STAGES[-1].last("ENTRYPOINT").command()
    assert "usage: ottla" in container.execute(*entry, "--help").stdout


def test_it_has_nothing_that_only_the_build_needs(container: Container) -> None:
    assert container.execute("sh", "-c", "command -v pip; ls /source /opt/ottla/bin/pip").stdout == ""


def test_the_service_of_the_compose_file_tells_each_client_an_address_that_it_can_reach(container: Container) -> None:
    (container.system.path / "etc" / "hosts").write_text("127.0.0.1 localhost ottla\n")
    container.start(*COMPOSE["services"]["ottla"]["command"])
    for bootstrap in ("localhost:9092", "ottla:19092"):
        told = container.execute("ottla", "cluster", "describe", "-b", bootstrap, "-o", "json")
        assert told.returncode == 0, told
        host, port = bootstrap.split(":")
        assert [(one["host"], one["port"]) for one in json.loads(told.stdout)["brokers"]] == [(host, int(port))]
    assert container.stop() == 0, container.output


def test_what_it_stored_is_there_for_the_next_one_after_a_stop(container: Container) -> None:
    container.start()
    assert container.execute("sh", "-c", "echo kept | ottla produce kept").returncode == 0
    assert container.stop() == 0, container.output
    container.start()
    assert container.execute("ottla", "consume", "kept", "-e", "-f", "%s\\n").stdout == "kept\n"


def test_the_build_is_sent_what_it_copies() -> None:
    sent = (CONTAINER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [one for stage in STAGES for one in stage.instructions if one.name == "COPY" and "from" not in one.flags]
    assert "*" in sent
    assert {name for one in copied for name in one.words()[:-1]} == {line[1:] for line in sent if line.startswith("!")}


def test_the_compose_file_is_one_that_compose_takes() -> None:
    tool = next((words for words in (["docker", "compose"], ["docker-compose"]) if _answers(words)), None)
    if tool is None:
        pytest.skip("there is no docker compose, with or without an engine: tools/system-parts docker-compose")
    command = [*tool, "-f", str(CONTAINER / "compose.yaml"), "config", "-q"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_the_compose_file_keeps_the_data_of_the_image() -> None:
    service = COMPOSE["services"]["ottla"]
    assert service["volumes"] == [f"data:{STAGES[-1].last('VOLUME').rest}"]
    context = CONTAINER / service["build"]["context"]
    assert (context / service["build"]["dockerfile"]).resolve() == CONTAINER / "Dockerfile"


def _answers(tool: list[str]) -> bool:
    try:
        return subprocess.run([*tool, "version"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False
