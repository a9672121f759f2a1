import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[3]
PLUGIN = "ottla.testing.pytest_plugin"


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess("-p", PLUGIN, *arguments)


@pytest.fixture
def without_autoload(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what a test names is loaded, whether or not the environment has our entry point."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


pytestmark = pytest.mark.usefixtures("without_autoload")


def test_pytest_finds_the_plugin_by_its_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"ottla": PLUGIN}


def test_a_pytest_that_does_not_use_the_plugin_loads_nothing_of_ottla() -> None:
    code = f"import pytest, sys; before = set(sys.modules); import {PLUGIN}; print(*(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert sorted(loaded) == ["ottla", "ottla.testing", PLUGIN]


def test_tests_share_a_cluster_and_have_topics_of_their_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        from ottla.client.sync import Client

        seen = []

        @pytest.mark.parametrize("what", ["a", "b c/../\\u010de\\u0161tina"])
        def test_topic(ottla_cluster, ottla_topic, what):
            with Client(ottla_cluster.bootstrap_servers) as client:
                assert [topic.name for topic in client.admin.list_topics()] == [ottla_topic]
            seen.append((ottla_cluster.bootstrap_servers, ottla_topic))

        def test_apart():
            (first, a), (second, b) = seen
            assert first == second
            assert a != b
            assert a.startswith("test_topic-a-")

        def test_deleted(ottla_cluster):
            with Client(ottla_cluster.bootstrap_servers) as client:
                assert not client.admin.list_topics()

        def test_deletes_its_topic_itself(ottla_cluster, ottla_topic):
            with Client(ottla_cluster.bootstrap_servers) as client:
                assert client.admin.delete_topics([ottla_topic]) == {ottla_topic: None}

        def test_kills_the_cluster(ottla_cluster, ottla_topic):
            ottla_cluster.kill()
        """
    )
    run(pytester).assert_outcomes(passed=6)


def test_a_conftest_may_give_a_cluster_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest
        from ottla.testing import EmbeddedCluster

        @pytest.fixture(scope="session")
        def ottla_cluster():
            with EmbeddedCluster(config={"auto.create.topics.enable": False}) as cluster:
                cluster.is_mine = True
                yield cluster
        """
    )
    pytester.makepyfile("def test_it(ottla_topic, ottla_cluster): assert ottla_cluster.is_mine and ottla_topic")
    run(pytester).assert_outcomes(passed=1)


def test_each_worker_of_xdist_has_a_cluster(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os, pathlib, pytest

        @pytest.mark.parametrize("number", range(8))
        def test_topic(ottla_cluster, ottla_topic, number):
            with open("addresses", "a") as file:
                file.write(f"{os.environ['PYTEST_XDIST_WORKER']} {ottla_cluster.bootstrap_servers}\\n")
        """
    )
    run(pytester, "-p", "xdist", "-n", "2").assert_outcomes(passed=8)
    pairs = {tuple(line.split()) for line in (pytester.path / "addresses").read_text().splitlines()}
    workers, addresses = zip(*pairs, strict=True)
    assert sorted(workers) == ["gw0", "gw1"]
    assert len(set(addresses)) == 2


def test_a_failed_test_shows_the_log_of_the_node(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_fails(ottla_cluster): assert not ottla_cluster.is_running
        def test_passes(ottla_cluster): pass
        def test_fails_without_a_cluster(): assert False
        """
    )
    result = run(pytester)
    result.assert_outcomes(failed=2, passed=1)
    text = result.stdout.str()
    assert text.count("Ottla's log") == 1
    assert "Active controller" in text


def test_a_cluster_that_cannot_start_is_an_error_with_its_reason(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest
        from ottla.testing import EmbeddedCluster

        @pytest.fixture(scope="session")
        def ottla_cluster():
            with EmbeddedCluster(config={"num.partitions": "many"}) as cluster:
                yield cluster
        """
    )
    pytester.makepyfile("def test_it(ottla_topic): pass")
    result = run(pytester)
    result.assert_outcomes(errors=1)
    assert "Invalid value many for configuration num.partitions" in result.stdout.str()
