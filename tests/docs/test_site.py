"""The documentation as a site: links and anchors lead somewhere, every page is there, no other host is needed."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MKDOCS = ROOT / "build" / "site-venv" / "bin" / "mkdocs"
LOADED = re.compile(
    r"<(?:script|img|iframe)[^>]*\ssrc=\"?(https?://[^\s\">]+)|<link[^>]*\shref=\"?(https?://[^\s\">]+)"
)

pytestmark = pytest.mark.skipif(not MKDOCS.exists(), reason="`make site` installs what builds the site")


def build(root: Path, target: Path) -> subprocess.CompletedProcess[str]:
    command = [str(MKDOCS), "build", "--strict", "-f", str(root / "mkdocs.yml"), "-d", str(target)]
    variables = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    built = build(ROOT, target)
    assert built.returncode == 0, built.stdout + built.stderr
    return target


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """What the site is built from, to be spoiled."""
    target = tmp_path / "clone"
    for folder in ("docs", "tools", "examples", "packaging"):
        if (ROOT / folder).is_dir():
            shutil.copytree(ROOT / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (*ROOT.glob("*.md"), ROOT / "mkdocs.yml", ROOT / "LICENSE"):
        shutil.copy(file, target)
    return target


def test_every_document_is_a_page_in_the_navigation(site: Path) -> None:
    documents = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert {path for path in documents if not (site / path).exists()} == set()
    home = (site / "index.html").read_text(encoding="utf-8")
    assert [kind for kind in ("Tutorials", "How to", "Reference", "Explanation") if f"    {kind}\n" not in home] == []


def test_links_out_of_the_folder_lead_to_what_the_site_brings_along(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="repository/readme.html#what-works-and-what-does-not-yet"' in home
    assert 'id="what-works-and-what-does-not-yet"' in (site / "repository" / "readme.html").read_text(encoding="utf-8")
    assert 'href="files/LICENSE"' in (site / "repository" / "readme.html").read_text(encoding="utf-8")
    assert (site / "repository" / "files" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert {path: found for path, text in pages.items() if (found := LOADED.findall(text))} == {}


@pytest.mark.parametrize(
    "wrong", ["tutorial/first-steps.md#no-such-heading", "tutorial/no-such-page.md", "../NO_SUCH_FILE.md"]
)
def test_a_link_that_leads_nowhere_fails_the_build(copy: Path, tmp_path: Path, wrong: str) -> None:
    with (copy / "docs" / "index.md").open("a", encoding="utf-8") as index:
        index.write(f"\n[wrong]({wrong})\n")
    built = build(copy, tmp_path / "site")
    assert built.returncode != 0
    assert wrong.rpartition("/")[2].rpartition("#")[2] in built.stdout + built.stderr


def test_a_page_that_the_index_does_not_list_fails_the_build(copy: Path, tmp_path: Path) -> None:
    (copy / "docs" / "how-to" / "be-forgotten.md").write_text("# Be forgotten\n", encoding="utf-8")
    built = build(copy, tmp_path / "site")
    assert built.returncode != 0
    assert "be-forgotten.md" in built.stdout + built.stderr
