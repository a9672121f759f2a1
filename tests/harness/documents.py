"""What the documentation shows, run: ```python and ```sh blocks in order.

A plain ``` block after an ```sh block is what that one prints. ```console blocks are shown only.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
SHOWN_ADDRESS = "127.0.0.1:9092"
# A directory of its own takes its place: two readers at once must not find each other's files.
SHOWN_DIRECTORY = "/tmp/"
SHOWN_REGISTRY = "http://127.0.0.1:8081"

# The command as a reader has it installed.
OTTLA = f'ottla() {{ {shlex.quote(sys.executable)} -m ottla "$@"; }}'

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_document(
    text: str, bootstrap: str, given: Mapping[str, object] | None = None, registry: str = SHOWN_REGISTRY
) -> None:
    """Run the blocks of a document; `given` are variables that it does not make itself."""
    variables = dict(given or {})
    printed = ""
    with TemporaryDirectory(prefix="document-") as directory:
        for language, block in BLOCK.findall(text):
            code = block.replace(SHOWN_ADDRESS, bootstrap).replace(SHOWN_REGISTRY, registry)
            code = code.replace(SHOWN_DIRECTORY, f"{directory}/")
            if language == "python":
                exec(compile(code, "documentation", "exec"), variables)
            elif language == "sh":
                shell = ["bash", "-euo", "pipefail", "-c", f"{OTTLA}\n{code}"]
                done = subprocess.run(shell, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done
                printed = done.stdout
            elif language == "":
                assert printed == block, f"it prints {printed!r} where this is shown: {block!r}"
    assert len(variables) > len(given or {}) or printed, "the document shows nothing that could be run"
