"""Apicurio's registry as a process: another server of Confluent's API, by other people."""

from collections.abc import Sequence
from pathlib import Path

import httpx

from harness.downloads import downloaded
from harness.server_process import ServerProcess

MEMORY: Sequence[str] = ()


def on_kafka(bootstrap: str) -> Sequence[str]:
    """Keeps schemas in a topic of a cluster, as Ottla's does."""
    return ("-Dapicurio.storage.kind=kafkasql", f"-Dapicurio.kafkasql.bootstrap.servers={bootstrap}")


class ApicurioProcess(ServerProcess):
    def __init__(self, home: Path, storage: Sequence[str] = MEMORY, options: Sequence[str] = ()) -> None:
        home.mkdir(parents=True, exist_ok=True)
        super().__init__(home)
        self._storage = storage
        self._options = options

    @property
    def url(self) -> str:
        """Of the API that is Confluent's."""
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def _command(self) -> list[str]:
        (runner,) = downloaded("apicurio").glob("*-runner.jar")
        address = ("-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={self.port}")
        return ["java", "-Xmx512m", *self._options, *address, *self._storage, "-jar", str(runner)]

    def _serves(self) -> bool:
        try:
            return httpx.get(f"{self.url}/subjects", timeout=5.0).is_success
        except httpx.HTTPError:
            return False
