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


@pytest.mark.parametrize("with_own_settings", [False, True])
def test_the_tests_pass_with_our_cluster_and_with_the_readers(
    pytester: pytest.Pytester, shown: dict[str, Path], monkeypatch: pytest.MonkeyPatch, with_own_settings: bool
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    if not with_own_settings:
        shown["conftest.py"].unlink()
    tests = sum(name.startswith("test_") for name in shown)
    assert tests == 7
    pytester.runpytest_subprocess("-p", "ottla.testing.pytest_plugin").assert_outcomes(passed=tests)


def test_it_works_without_pytest(shown: dict[str, Path]) -> None:
    done = subprocess.run([sys.executable, shown["without_pytest.py"]], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"127\.0\.0\.1:\d+\n", done.stdout)
