"""Suites of other projects that take long: run by targets of their own, not by a plain pytest."""

import os

collect_ignore_glob = [] if os.environ.get("OTTLA_SUITES") else ["*"]
