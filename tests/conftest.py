"""Fixtures for tests that talk to a running server; see harness/servers.py for which server that is."""

import itertools
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from harness.clients.confluent import ConfluentKafka
    from harness.clients.contract import Client, TransactionalProducer
    from harness.servers import Server
    from harness.transactions import NewProducer

StartServer = Callable[..., "Server"]

# The same cases on every run, so that a build fails for what was changed; OTTLA_RANDOM=1 looks for new ones. No case is
# timed: a busy machine is no fault.
hypothesis.settings.register_profile("repeatable", derandomize=not os.environ.get("OTTLA_RANDOM"), deadline=None)
hypothesis.settings.load_profile("repeatable")

# A job in a shell's background has Ctrl-C switched off, and its children would inherit that: some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def running_servers(new_home: Callable[[], Path]) -> Iterator[StartServer]:
    """Starts servers on demand, each with a directory of its own, and stops them all in the end."""
    from harness.servers import make_server

    with ExitStack() as stopping:

        def start(overrides: Mapping[str, str] | None = None) -> "Server":
            server = make_server(new_home(), overrides)
            stopping.callback(server.close)
            server.start()
            return server

        yield start


@pytest.fixture(scope="session")
def start_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    with running_servers(lambda: tmp_path_factory.mktemp("server")) as start:
        yield start


@pytest.fixture(scope="session")
def server(start_servers: StartServer) -> "Server":
    """The server that most tests share: they keep apart by the names of their topics and groups."""
    return start_servers()


@pytest.fixture
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    """For a test that needs a server of its own, with its own settings or to end it."""
    with running_servers(lambda: tmp_path_factory.mktemp("server")) as start:
        yield start


_numbers = itertools.count()


@pytest.fixture
def fresh_name(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Names of topics and groups that no other test has, and that say which test they belong to."""
    test = "".join(c if c.isalnum() else "-" for c in request.node.name)[:60].strip("-").lower()
    return lambda: f"{test}-{next(_numbers)}"


@pytest.fixture(scope="session")
def reference(server: "Server") -> "ConfluentKafka":
    """The client that prepares and checks what others do."""
    from harness.clients.confluent import ConfluentKafka

    return ConfluentKafka(server.bootstrap)


@pytest.fixture
def new_topic(reference: "ConfluentKafka", fresh_name: Callable[[], str]) -> Callable[..., str]:
    """Creates a topic and waits until brokers tell of it: that may be later than the answer to the creation."""
    from harness.waiting import eventually

    def create(partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
        topic = fresh_name()
        reference.create_topic(topic, partitions, configs or {})
        eventually(reference.topics, lambda topics: topics.get(topic) == partitions)
        return topic

    return create


@pytest.fixture
def open_producer(fresh_name: Callable[[], str]) -> "Iterator[NewProducer]":
    """Starts transactional producers, and closes them in the end."""
    with ExitStack() as closing:

        def start(
            client: "Client", transactional_id: str | None = None, timeout_ms: int = 60_000
        ) -> "TransactionalProducer":
            producer = client.transactional_producer(transactional_id or fresh_name(), timeout_ms=timeout_ms)
            closing.callback(producer.close)
            return producer

        yield start


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """A failed test shows the end of its server's output."""
    report = yield
    funcargs = getattr(item, "funcargs", {})
    server = funcargs.get("server")
    if report.failed and server is not None and server.output.exists():
        report.sections.append(("server output", server.output_tail()))
    return report
