"""`python -m ottla` is `ottla`."""

import sys

from ottla.cli.main import main

sys.exit(main())
