"""The page about the source has every option."""

import re

from harness.documents import ROOT
from ottla.pipeline.source.options import OPTION_NAMES

PAGE = (ROOT / "docs" / "reference" / "pipeline-source.md").read_text(encoding="utf-8")


def test_every_option_is_on_the_page() -> None:
    cells = re.findall(r"^\| (`.+?) \|", PAGE, re.MULTILINE)
    told = {name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)}
    columns = {"key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"}
    assert told - columns == set(OPTION_NAMES)
