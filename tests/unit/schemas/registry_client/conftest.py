from collections.abc import Iterator

import pytest

from harness.registries import running_registries
from ottla.schemas.registry_client.known_schemas import KnownSchemas
from ottla.schemas.registry_client.registry_client import RegistryClient
from ottla.schemas.registry_client.settings import RegistryClientSettings
from ottla.testing import EmbeddedCluster


@pytest.fixture(scope="session")
def registry_url(ottla_cluster: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real registry, one for all tests of the session: each takes subjects of its own."""
    with running_registries(tmp_path_factory.mktemp("registry"), ottla_cluster.bootstrap_servers) as (registry,):
        yield registry.url


@pytest.fixture
def client(registry_url: str) -> Iterator[RegistryClient]:
    with RegistryClient(RegistryClientSettings((registry_url,))) as client:
        yield client


@pytest.fixture
def known(client: RegistryClient) -> KnownSchemas:
    return KnownSchemas(client)
