"""A node started from an installed `ottla`, with nothing of the clone in its environment."""

from collections.abc import Mapping
from pathlib import Path

from harness.distribution import Environment
from harness.servers import Server


class InstalledServer(Server):
    def __init__(self, home: Path, environment: Environment, overrides: Mapping[str, str] | None = None) -> None:
        super().__init__(home, overrides)
        self._environment = environment

    def _command(self) -> list[str]:
        overrides = [part for name, value in self.settings.items() for part in ("--override", f"{name}={value}")]
        server = [str(self._environment.ottla), "server", "--data", str(self.data), "--listen", self.bootstrap]
        return [*server, *overrides]

    def _variables(self) -> dict[str, str] | None:
        return self._environment.variables
