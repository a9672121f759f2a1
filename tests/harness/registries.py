"""Ottla's schema registry as processes: one, or several that choose who leads."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from harness.server_process import START_TIMEOUT_S, ServerProcess
from harness.waiting import eventually

# Nobody registers it: whether it can be deleted is for the leader to say.
_NO_SUBJECT = "there-is-no-such-subject"
_SUBJECT_NOT_FOUND = 40401
_PROBE_TIMEOUT_S = 5.0


class RegistryProcess(ServerProcess):
    def __init__(self, home: Path, bootstrap: str, overrides: Mapping[str, str] | None = None) -> None:
        home.mkdir(parents=True, exist_ok=True)
        super().__init__(home)
        self.settings = {
            "listeners": self.url,
            "host.name": "127.0.0.1",
            "kafkastore.bootstrap.servers": bootstrap,
        } | dict(overrides or {})
        self.properties = home / "schema-registry.properties"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _command(self) -> list[str]:
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in self.settings.items()))
        return [sys.executable, "-m", "ottla.cli.main", "registry", str(self.properties)]

    def _serves(self) -> bool:
        try:
            return httpx.get(self.url, timeout=_PROBE_TIMEOUT_S).is_success
        except httpx.HTTPError:
            return False

    def is_led(self) -> bool:
        """Whether this instance leads or reaches the one that does."""
        try:
            answer = httpx.delete(f"{self.url}/subjects/{_NO_SUBJECT}", timeout=_PROBE_TIMEOUT_S)
        except httpx.HTTPError:
            return False
        return bool(answer.json()["error_code"] == _SUBJECT_NOT_FOUND)

    def start(self) -> None:
        """Returns when it serves and someone leads: it takes changes, too."""
        super().start()
        self.until_led()

    def until_led(self) -> None:
        eventually(self.is_led, timeout_s=START_TIMEOUT_S)


@contextmanager
def running_registries(
    home: Path, bootstrap: str, overrides: Sequence[Mapping[str, str]] = ({},)
) -> Iterator[list[RegistryProcess]]:
    """An instance for each of the overrides, all of one registry; they start together and stop one after the other."""
    with ExitStack() as stopping:
        instances = [RegistryProcess(home / str(index), bootstrap, given) for index, given in enumerate(overrides)]
        for instance in instances:
            stopping.callback(instance.close)
            instance.launch()
        for instance in instances:
            instance.until_up()
        for instance in instances:
            instance.until_led()
        yield instances
