"""The tests that the documentation shows, run by pytest as a reader would."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "test-against-ottla.md"
FILE = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def shown(pytester: pytest.Pytester) -> dict[str, Path]:
    """The files of the document, by name."""
    found = {name: pytester.path / name for name, _ in FILE.findall(HOW_TO.read_text(encoding="utf-8"))}
    for name, text in FILE.findall(HOW_TO.read_text(encoding="utf-8")):
        found[name].write_text(text, encoding="utf-8")
    return found


def run_shown(pytester: pytest.Pytester, *names: str) -> None:
    pytester.runpytest_subprocess("-p", "ottla.testing.pytest_plugin", *names).assert_outcomes(passed=len(names))


def test_the_tests_pass_with_the_readers_own_settings(
    pytester: pytest.Pytester, shown: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    tests = [name for name in shown if name.startswith("test_")]
    assert len(tests) == 7
    run_shown(pytester, *tests)


def test_the_tests_that_share_a_cluster_pass_without_any_settings(
    pytester: pytest.Pytester, shown: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    shown["conftest.py"].unlink()
    run_shown(pytester, *(name for name in shown if name.startswith("test_orders")))


def test_it_works_without_pytest(shown: dict[str, Path]) -> None:
    done = subprocess.run([sys.executable, shown["without_pytest.py"]], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"127\.0\.0\.1:\d+\n", done.stdout)
