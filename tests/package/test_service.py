"""The unit of systemd, under a real systemd, in a Debian system that is set up as the how-to says."""

import re
import tarfile
from collections.abc import Iterator

import pytest

from harness.debian_root import DebianRoot, debian_system, running_root
from harness.distribution import ROOT, Distribution
from harness.documents import BLOCK
from harness.waiting import eventually

UNIT = "packaging/systemd/ottla.service"
OTTLA = "/opt/ottla/bin/ottla"
CLONE = "/srv/ottla"
SYSTEMD = ("/lib/systemd/systemd", "--system", "--unit=multi-user.target")

pytestmark = [pytest.mark.root, pytest.mark.timeout(600)]


def show(system: DebianRoot, *properties: str) -> list[str]:
    names = [f"--property={name}" for name in properties]
    shown = system.run("systemctl", "show", "ottla", *names).stdout
    values = dict(line.split("=", 1) for line in shown.splitlines())
    return [values[name] for name in properties]


def produce(system: DebianRoot, value: str) -> None:
    done = system.run("sh", "-c", f"echo {value} | {OTTLA} produce greetings")
    assert done.returncode == 0, done


def consume(system: DebianRoot) -> list[str]:
    done = system.run(OTTLA, "consume", "greetings", "-e", "-f", "%s\\n")
    assert done.returncode == 0, done
    return done.stdout.splitlines()


def journal(system: DebianRoot) -> str:
    return system.run("journalctl", "-u", "ottla", "--no-pager").stdout


def is_serving(system: DebianRoot) -> bool:
    return show(system, "ActiveState", "SubState") == ["active", "running"]


@pytest.fixture(scope="module")
def system(distribution: Distribution, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DebianRoot]:
    """Boots, and follows the how-to from the sources as they are shipped."""
    base = debian_system("debian-service")
    page = (ROOT / "docs" / "how-to" / "run-it-as-a-service.md").read_text(encoding="utf-8")
    with running_root(base, tmp_path_factory.mktemp("service") / "root", SYSTEMD) as booted:
        with tarfile.open(distribution.sdist) as sdist:
            sdist.extractall(booted.path / "root", filter="data")
        (sources,) = (booted.path / "root").glob("ottla-*")
        sources.rename(booted.path / CLONE[1:])
        eventually(lambda: booted.run("systemctl", "is-system-running").stdout.strip() in {"running", "degraded"})
        for language, block in BLOCK.findall(page):
            if language == "sh":
                shell = ("bash", "-euo", "pipefail", "-c", block)
                done = booted.install(*shell, cwd=CLONE) if "pip install" in block else booted.run(*shell)
                assert done.returncode == 0, f"{done}\n{journal(booted)}"
        yield booted


def test_the_unit_is_one_that_systemd_finds_nothing_wrong_with(system: DebianRoot) -> None:
    verified = system.run("systemd-analyze", "verify", "/etc/systemd/system/ottla.service")
    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")


def test_little_of_the_system_is_exposed_to_the_node(system: DebianRoot) -> None:
    """Of ten, as systemd counts: what a service may do that it need not."""
    told = system.run("systemd-analyze", "security", "--no-pager", "ottla.service").stdout
    (level,) = re.findall(r"Overall exposure level for ottla.service: ([0-9.]+)", told)
    assert float(level) < 2.0, told


def test_it_serves_as_a_user_of_its_own(system: DebianRoot) -> None:
    produce(system, "hello")
    assert "hello" in consume(system)
    (pid,) = show(system, "MainPID")
    owner = system.run("id", "-u", "ottla").stdout.strip()
    assert owner != "0"
    assert system.run("stat", "-c", "%u", f"/proc/{pid}", "/var/lib/ottla").stdout.split() == [owner, owner]


def test_the_status_says_what_is_served(system: DebianRoot) -> None:
    assert show(system, "StatusText") == ["Serving 127.0.0.1:9092"]


def test_after_a_kill_it_is_started_again_and_nothing_is_lost(system: DebianRoot) -> None:
    produce(system, "acknowledged")
    before, restarts = show(system, "MainPID", "NRestarts")
    assert system.run("sh", "-c", f"kill -9 {before}").returncode == 0
    eventually(lambda: is_serving(system) and show(system, "NRestarts") == [str(int(restarts) + 1)], timeout_s=60)
    assert show(system, "MainPID") != [before]
    assert "acknowledged" in consume(system)


def test_it_stops_in_order(system: DebianRoot) -> None:
    produce(system, "before the stop")
    assert system.run("systemctl", "stop", "ottla").returncode == 0
    assert show(system, "ActiveState", "Result", "ExecMainStatus") == ["inactive", "success", "0"]
    assert (system.path / "var" / "lib" / "ottla" / ".kafka_cleanshutdown").exists()
    assert system.run("systemctl", "start", "ottla").returncode == 0
    assert "before the stop" in consume(system)


def test_a_configuration_that_is_wrong_is_named_and_given_up(system: DebianRoot) -> None:
    configuration = system.path / "etc" / "ottla" / "server.properties"
    right = configuration.read_text()
    configuration.write_text(right + "num.partitions=many\n")
    try:
        assert system.run("systemctl", "restart", "ottla").returncode != 0
        eventually(lambda: show(system, "ActiveState"), lambda state: state == ["failed"], timeout_s=60)
        assert "num.partitions" in journal(system)
    finally:
        configuration.write_text(right)
        system.run("systemctl", "reset-failed", "ottla")
        system.run("systemctl", "start", "ottla")
