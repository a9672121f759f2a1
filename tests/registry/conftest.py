"""A registry on the server under test, and what its clients need."""

from collections.abc import Callable, Iterator

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.confluent_registry import FACES, ConfluentRegistry
from harness.registries import RegistryProcess, running_registries
from harness.servers import Server
from harness.typed_topic import TypedTopic


@pytest.fixture(scope="session")
def registry(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    """The registry that most tests share: they keep apart by the names of their subjects."""
    with running_registries(tmp_path_factory.mktemp("registry"), server.bootstrap) as (instance,):
        yield instance


@pytest.fixture(params=FACES)
def confluent(request: pytest.FixtureRequest, registry: RegistryProcess) -> Iterator[ConfluentRegistry]:
    """Confluent's client, in each of its forms."""
    with FACES[request.param](registry.url) as opened:
        yield opened


@pytest.fixture
def topic(reference: ConfluentKafka, new_topic: Callable[..., str]) -> TypedTopic:
    return TypedTopic(reference, new_topic())
