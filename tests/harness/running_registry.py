"""A schema registry in a process of its own, over a cluster that is there."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from harness.waiting import eventually
from ottla.schemas.registry_client.errors import RegistryUnreachable
from ottla.schemas.registry_client.registry_client import RegistryClient
from ottla.schemas.registry_client.settings import RegistryClientSettings

_PROGRAM = """
import asyncio, json, sys
from ottla.registry.server import run_registry
from ottla.registry.settings import read_settings
asyncio.run(run_registry(read_settings(json.loads(sys.argv[1])), lambda ready: print(ready[0].port, flush=True)))
"""


@contextmanager
def running_registry(bootstrap: str, more: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of a registry that leads."""
    settings = {
        "kafkastore.bootstrap.servers": bootstrap,
        "listeners": "http://127.0.0.1:0",
        "host.name": "127.0.0.1",
        "kafkastore.topic.replication.factor": "1",
        **(more or {}),
    }
    command = [sys.executable, "-c", _PROGRAM, json.dumps(settings)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        _wait_for_leader(url)
        yield url
        process.terminate()
        assert process.wait(30) == 0


def _wait_for_leader(url: str) -> None:
    with RegistryClient(RegistryClientSettings((url,), retries_max=0)) as client:

        def leads() -> bool:
            try:
                client.change_config({"compatibility": "BACKWARD"})
            except RegistryUnreachable:
                return False
            return True

        eventually(leads)
