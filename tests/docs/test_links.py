"""Every link between the documents leads somewhere, what is generated is fresh, what works is not called missing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    targets = LINK.findall(document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_every_page_is_reachable_from_the_index() -> None:
    reached = set[Path]()
    ahead = [ROOT / "docs" / "index.md"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        linked = {(page.parent / target).resolve() for target in LINK.findall(page.read_text(encoding="utf-8"))}
        ahead += [path for path in linked if path.suffix == ".md" and path not in reached]
    assert {path.resolve() for path in (ROOT / "docs").rglob("*.md")} <= reached


@pytest.mark.parametrize(
    "document", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_what_works_now_is_not_called_missing(document: Path) -> None:
    """What the README's table says yes to."""
    rows = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    works = [row.lower() for row in rows if row.endswith("| yes | yes |")]
    missing = re.findall(r"(\w+) (?:is|are) not (?:supported|there) yet", document.read_text(encoding="utf-8").lower())
    assert [thing for thing in missing if any(thing in row for row in works)] == []


@pytest.mark.parametrize("page", ["api", "config"])
def test_generated_references_are_fresh(page: str) -> None:
    generator = ROOT / "tools" / f"generate_{page}_reference.py"
    checked = subprocess.run([sys.executable, str(generator), "--check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
