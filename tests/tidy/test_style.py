"""The rules of style that a machine can keep, so that no reviewer has to."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

LINES_MAX = 600
# One concept each, which a cut would tear.
LONGER_MAX = {
    "src/ottla/replication/partition.py": 700,  # one life of a replica, from leader to follower and back
    "src/ottla/storage/log.py": 760,  # what the lock of a log guards
}
FUNCTION_LINES_MAX = 60
# Written by a generator from Kafka's message definitions.
GENERATED = ROOT / "src" / "ottla" / "protocol" / "messages"
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
# Without the last letter, which the pattern adds: this file is searched as well.
MARKERS = re.compile(
    "|".join(rf"\b{start}{end}\b" for start, end in zip(("TOD", "FIXM", "XX", "HAC"), "OEXK", strict=True))
)


def tracked(pattern: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", pattern], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = (ROOT / line for line in listed.splitlines())
    return [path for path in paths if path.is_file() and GENERATED not in path.parents]


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_module_is_too_long() -> None:
    lengths = {name_of(path): len(lines_of(path)) for path in tracked("*.py")}
    assert {name: length for name, length in lengths.items() if length > LONGER_MAX.get(name, LINES_MAX)} == {}
    assert {name for name in LONGER_MAX if lengths[name] <= LINES_MAX} == set(), "take it off the list"


def test_no_function_is_too_long() -> None:
    long = {}
    for path in tracked("src/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                length = node.end_lineno - node.lineno + 1
                if length > FUNCTION_LINES_MAX:
                    long[f"{name_of(path)}:{node.lineno} {node.name}"] = length
    assert long == {}


def test_every_module_says_what_it_is() -> None:
    modules = tracked("src/*.py") + tracked("tools/*.py")
    silent = [name_of(path) for path in modules if not ast.get_docstring(ast.parse(path.read_text("utf-8")))]
    assert silent == []


def test_no_module_has_a_vague_name() -> None:
    assert [name_of(path) for path in tracked("*.py") if VAGUE_NAMES & {path.stem, *path.relative_to(ROOT).parts}] == []


def test_nothing_is_left_for_later_in_a_comment() -> None:
    left = [
        f"{name_of(path)}:{number}"
        for pattern in ("*.py", "*.md", "*.java", "*.js", "Makefile")
        for path in tracked(pattern)
        for number, line in enumerate(lines_of(path), 1)
        if MARKERS.search(line)
    ]
    assert left == []


def test_every_unit_test_stands_where_its_module_stands() -> None:
    units = ROOT / "tests" / "unit"
    strays = [
        name_of(path)
        for path in tracked("tests/unit/*.py")
        if path.name.startswith("test_") and not (ROOT / "src" / "ottla" / path.relative_to(units).parent).is_dir()
    ]
    assert strays == []


DOCUMENTS = tracked("*.md")


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_commands_in_the_documentation_exist(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    slices = re.search(r"^SLICES +:= (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert slices is not None
    targets |= set(slices.group(1).split())
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", document.read_text(encoding="utf-8"), re.MULTILINE))
    assert named <= targets


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_in_the_documentation_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    local = [link for link in links if not re.match(r"\w+:", link)]
    assert [link for link in local if not (document.parent / link).exists()] == []
