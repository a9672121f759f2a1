"""A registry on the server under test, and what its clients need."""

from collections.abc import Iterator

import pytest

from harness.registries import RegistryProcess, running_registries
from harness.servers import Server


@pytest.fixture(scope="session")
def registry(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    """The registry that most tests share: they keep apart by the names of their subjects."""
    with running_registries(tmp_path_factory.mktemp("registry"), server.bootstrap) as (instance,):
        yield instance
