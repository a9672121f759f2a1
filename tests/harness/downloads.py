"""The cache of tools/downloads.py, filled on first use."""

import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def downloaded(name: str) -> Path:
    command = [sys.executable, str(ROOT / "tools" / "downloads.py"), name]
    return Path(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
