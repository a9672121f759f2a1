"""The client under test, and the one that prepares and checks what it does."""

from collections.abc import Callable, Iterator

import pytest

from harness.clients.catalogue import start_client
from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Client
from harness.clients.java_client import JavaClient
from harness.command_line import CommandLine
from harness.servers import Server
from harness.timed_records import timed_records


@pytest.fixture(scope="session")
def running_clients() -> Iterator[dict[str, Client]]:
    """Clients with a process or a loop of their own start once per session."""
    running: dict[str, Client] = {}
    yield running
    for client in running.values():
        client.close()


@pytest.fixture(scope="session")
def client_named(server: Server, running_clients: dict[str, Client]) -> Callable[[str], Client]:
    def get(name: str) -> Client:
        if name not in running_clients:
            running_clients[name] = start_client(name, server.bootstrap)
        return running_clients[name]

    return get


@pytest.fixture
def client(request: pytest.FixtureRequest, client_named: Callable[[str], Client]) -> Client:
    return client_named(request.param)


@pytest.fixture(scope="session")
def java(client_named: Callable[[str], Client]) -> JavaClient:
    found = client_named(JavaClient.name)
    assert isinstance(found, JavaClient)
    return found


@pytest.fixture(scope="session")
def tool(java: JavaClient) -> Callable[..., str]:
    """Runs one of Kafka's command line tools against the server; it must succeed; what it printed."""

    def run(main: str, *arguments: str, stdin: str = "") -> str:
        printed = java.tool(main, "--bootstrap-server", java.bootstrap, *arguments, stdin=stdin)
        assert printed.code == 0, printed
        return printed.out

    return run


@pytest.fixture
def ottla(capsys: pytest.CaptureFixture[str], server: Server, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line, for this server."""
    monkeypatch.setenv("OTTLA_BOOTSTRAP_SERVERS", server.bootstrap)
    return CommandLine(capsys)


@pytest.fixture
def timed_topic(reference: ConfluentKafka, new_topic: Callable[..., str]) -> Callable[..., str]:
    """Creates a topic whose partitions hold so many records, a second between them."""

    def create(*counts: int) -> str:
        name = new_topic(len(counts))
        for partition, count in enumerate(counts):
            reference.produce(name, timed_records(count), partition=partition)
        return name

    return create
