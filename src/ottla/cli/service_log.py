"""Where services that this command line starts say what happens to them: on stderr, from INFO up."""

import logging
import os
import sys
from typing import Final

LEVEL_VARIABLE: Final = "OTTLA_LOG_LEVEL"


def start_logging() -> None:
    """OTTLA_LOG_LEVEL names another level."""
    level = os.environ.get(LEVEL_VARIABLE, "INFO").upper()
    logging.basicConfig(
        level=level if level in logging.getLevelNamesMapping() else "INFO",
        format="%(asctime)s %(levelname)-7s %(name)s: %(message)s",
        stream=sys.stderr,
    )
