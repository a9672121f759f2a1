"""What mkdocs calls while it builds the site; the decisions are in navigation.py and repository_links.py."""

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ROOT / "docs"
# mkdocs loads this file by its path, and knows of no package around it.
sys.path.insert(0, str(ROOT / "tools"))

from doc_site import navigation, repository_links  # noqa: E402


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Takes the navigation from the index, and puts the pages from outside of docs at its end."""

    def read(path: str) -> str:
        return (DOCUMENTS / path).read_text(encoding="utf-8")

    outside = [path for path in _outside() if repository_links.is_page(path)]
    repository = [{Path(path).stem.capitalize(): repository_links.place_of(path)} for path in outside]
    config.nav = [{"Home": "index.md"}, *navigation.sections(read("index.md"), read), {"Repository": repository}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what the documents link to outside of docs."""
    for path in _outside():
        place = repository_links.place_of(path)
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Turns links into the repository into links of the site."""
    path = Path(str(page.file.abs_src_path)).resolve().relative_to(ROOT)
    return repository_links.rewritten(markdown, path.as_posix())


def _outside() -> list[str]:
    """The files outside of docs that documents link to, and those that these link to."""
    found: list[str] = []
    ahead = sorted(path.relative_to(ROOT).as_posix() for path in DOCUMENTS.rglob("*.md"))
    while ahead:
        document = ahead.pop(0)
        for path in repository_links.linked_paths((ROOT / document).read_text(encoding="utf-8"), document):
            if path.startswith(repository_links.DOCUMENTS) or path in found:
                continue
            if not (ROOT / path).is_file():
                raise PluginError(f"{document} links to {path}, which is no file: name one that the site can show.")
            found.append(path)
            if repository_links.is_page(path):
                ahead.append(path)
    return found
