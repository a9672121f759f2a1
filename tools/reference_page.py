"""A page of documentation that a program writes: into its file, or with `--check` only compared with it."""

import sys
from pathlib import Path


def write_or_check(path: Path, page: str) -> int:
    """Do what the command line asks for; the value is the exit code, 1 for a page that is not fresh."""
    if "--check" in sys.argv[1:]:
        if path.is_file() and path.read_text(encoding="utf-8") == page:
            return 0
        print(f"{path.name} is stale: run python tools/{Path(sys.argv[0]).name}")
        return 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return 0
