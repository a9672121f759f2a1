"""A registry as a client meets it: over HTTP, with schemas of real formats, in a topic of a real node."""

import asyncio
import signal
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from harness.certificates import Authority
from harness.ports import free_port
from harness.registry_command import RunningRegistry, running_registry, until_someone_leads
from ottla.registry.server import ListenFailed, StoreUnreachable, bind_address, run_registry
from ottla.registry.settings import ListenAddress, read_settings
from ottla.testing import EmbeddedCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def registry(cluster: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaRegistryClient]:
    log = tmp_path_factory.mktemp("registry") / "log"
    with running_registry(cluster.bootstrap_servers, log) as running, httpx.Client() as http:
        until_someone_leads(http, running.url)
        with SchemaRegistryClient({"url": running.url}) as client:
            yield client
        assert running.stop(signal.SIGTERM) == 0


TEXTS = {
    "AVRO": '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}',
    "JSON": '{"type":"object","properties":{"a":{"type":"integer"}}}',
    "PROTOBUF": 'syntax = "proto3";\nmessage R {\n  int32 a = 1;\n}\n',
}


@pytest.mark.parametrize("kind", TEXTS)
def test_confluents_client_registers_and_finds_schemas(registry: SchemaRegistryClient, kind: str) -> None:
    subject = f"{kind}-value"
    schema_id = registry.register_schema(subject, Schema(TEXTS[kind], kind))
    assert registry.register_schema(subject, Schema(TEXTS[kind], kind)) == schema_id
    assert registry.get_schema(schema_id).schema_type == kind
    found = registry.get_latest_version(subject)
    assert (found.subject, found.version, found.schema_id) == (subject, 1, schema_id)
    assert registry.lookup_schema(subject, Schema(TEXTS[kind], kind)).schema_id == schema_id
    assert subject in registry.get_subjects()
    assert registry.test_compatibility(subject, Schema(TEXTS[kind], kind))


def test_confluents_client_hears_why_a_schema_is_refused(registry: SchemaRegistryClient) -> None:
    registry.register_schema("refused", Schema(TEXTS["AVRO"], "AVRO"))
    with pytest.raises(SchemaRegistryError) as refused:
        registry.register_schema("refused", Schema(TEXTS["AVRO"].replace('"int"', '"string"'), "AVRO"))
    assert (refused.value.http_status_code, refused.value.error_code) == (409, 40901)
    assert "TYPE_MISMATCH" in refused.value.error_message
    with pytest.raises(SchemaRegistryError) as refused:
        registry.get_latest_version("nobody")
    assert (refused.value.http_status_code, refused.value.error_code) == (404, 40401)


def settings_of(**others: str) -> dict[str, str]:
    return {"kafkastore.bootstrap.servers": f"127.0.0.1:{free_port()}", "listeners": "http://127.0.0.1:0"} | others


def test_a_port_that_is_taken_is_told_before_anything_else() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = read_settings(settings_of(listeners=f"http://127.0.0.1:{taken.getsockname()[1]}"))
        with pytest.raises(ListenFailed, match="Name another port"):
            asyncio.run(run_registry(settings, lambda _: None))


def test_answers_are_sent_at_once_since_sockets_say_that_they_are_tcp() -> None:
    with bind_address(ListenAddress("127.0.0.1", 0)) as bound:
        assert bound.proto == socket.IPPROTO_TCP


def test_brokers_that_are_not_there_are_waited_for_and_named(caplog: pytest.LogCaptureFixture) -> None:
    settings = read_settings(settings_of() | {"kafkastore.init.timeout.ms": "700"})
    with pytest.raises(StoreUnreachable, match=r"within 700 ms .*refuses connections"):
        asyncio.run(run_registry(settings, lambda _: None))
    assert caplog.text.count(f"Waiting for brokers at {settings.bootstrap}") == 1


# -- instances with TLS and users -------------------------------------------------------------------------------------

ADA, BOB = ("ada", "lovelace"), ("bob", "builder")
SCHEMA = {"schema": '"string"'}


class Secured:
    """Two instances of one registry, with https beside http, users, and certificates for all."""

    def __init__(self, bootstrap: str, directory: Path, closing: ExitStack, extra: Mapping[str, str]) -> None:
        authority = Authority()
        self.authority = directory / "authority.pem"
        self.authority.write_bytes(authority.pem())
        self.client = authority.issue("client").write_pem(directory / "client.pem")
        (directory / "key.p12").write_bytes(authority.issue("registry").pkcs12("geheim"))
        (directory / "users").write_text("ada: lovelace,admin\nbob: builder,reader\n", encoding="utf-8")
        settings = {
            "host.name": "127.0.0.1",
            "inter.instance.protocol": "https",
            "ssl.keystore.location": str(directory / "key.p12"),
            "ssl.keystore.password": "geheim",
            "ssl.truststore.location": str(self.authority),
            "authentication.method": "BASIC",
            "authentication.users.file": str(directory / "users"),
            "authentication.readonly.roles": "reader",
            "access.control.allow.origin": "https://console.example",
            **extra,
        }
        # The smallest URL leads.
        ports = sorted((free_port(), free_port()))
        self.instances: list[RunningRegistry] = [
            closing.enter_context(
                running_registry(
                    bootstrap,
                    directory / f"{port}.log",
                    settings | {"listeners": f"http://127.0.0.1:0,https://127.0.0.1:{port}"},
                )
            )
            for port in ports
        ]
        context = ssl.create_default_context(cafile=self.authority)
        context.load_cert_chain(self.client)
        self.http = closing.enter_context(httpx.Client(verify=context, auth=ADA))
        for instance in self.instances:
            until_someone_leads(self.http, instance.urls[1])

    def logs(self) -> str:
        return "".join(one.log.read_text(encoding="utf-8") for one in self.instances)


@pytest.fixture(scope="module")
def secured(cluster: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with ExitStack() as closing:
        extra = {
            "ssl.client.authentication": "REQUIRED",
            "kafkastore.topic": "_secured",
            "schema.registry.group.id": "secured",
        }
        yield Secured(cluster.bootstrap_servers, tmp_path_factory.mktemp("secured"), closing, extra)


def test_listeners_with_and_without_tls_serve_the_same_registry(secured: Secured) -> None:
    plain, safe = secured.instances[0].urls
    assert (plain.split(":")[0], safe.split(":")[0]) == ("http", "https")
    assert secured.http.post(f"{safe}/subjects/mixed/versions", json=SCHEMA).status_code == 200
    assert secured.http.get(f"{plain}/subjects/mixed/versions").json() == [1]


def test_the_one_that_does_not_lead_forwards_over_tls_as_the_client_that_asked(secured: Secured) -> None:
    leader, follower = (one.urls[1] for one in secured.instances)
    for number, url in enumerate((follower, leader)):
        path = f"{url}/subjects/forwarded-{number}/versions"
        assert secured.http.post(path, json=SCHEMA, auth=BOB).json()["error_code"] == 40301
        assert secured.http.post(path, json=SCHEMA, auth=("ada", "builder")).status_code == 401
        assert secured.http.post(path, json=SCHEMA).status_code == 200
        assert secured.http.get(path, auth=BOB).json() == [1]


def test_a_page_of_another_origin_may_ask_if_it_is_named(secured: Secured) -> None:
    url = f"{secured.instances[0].url}/subjects"
    for origin, allowed in (("https://console.example", "https://console.example"), ("https://other.example", None)):
        asked = {"Origin": origin, "Access-Control-Request-Method": "GET"}
        # A browser asks first what it may ask, and has no password then.
        assert httpx.options(url, headers=asked).headers.get("access-control-allow-origin") == allowed
        assert secured.http.get(url, headers=asked).headers.get("access-control-allow-origin") == allowed


def test_a_client_without_a_certificate_does_not_even_get_to_ask(secured: Secured) -> None:
    context = ssl.create_default_context(cafile=secured.authority)
    with httpx.Client(verify=context, auth=ADA) as stranger, pytest.raises(httpx.TransportError):
        stranger.get(f"{secured.instances[0].urls[1]}/subjects")


def test_confluents_client_has_all_it_needs(secured: Secured) -> None:
    settings = {
        "url": secured.instances[1].urls[1],
        "basic.auth.user.info": ":".join(ADA),
        "ssl.ca.location": str(secured.authority),
        "ssl.certificate.location": str(secured.client),
        "ssl.key.location": str(secured.client),
    }
    with SchemaRegistryClient(settings) as client:
        schema_id = client.register_schema("safe", Schema(TEXTS["AVRO"], "AVRO"))
        assert client.get_schema(schema_id).schema_type == "AVRO"
    with SchemaRegistryClient(settings | {"basic.auth.user.info": ":".join(BOB)}) as reader:
        assert reader.test_compatibility("safe", Schema(TEXTS["AVRO"], "AVRO"))
        with pytest.raises(SchemaRegistryError) as refused:
            reader.register_schema("safe", Schema('"int"', "AVRO"))
        assert (refused.value.http_status_code, refused.value.error_code) == (403, 40301)


def test_no_secret_is_in_a_log(secured: Secured) -> None:
    for user in (ADA, BOB, ("ada", "builder")):
        for instance in secured.instances:
            secured.http.post(f"{instance.urls[1]}/subjects/logged/versions", json=SCHEMA, auth=user)
    assert "leads the registry" in secured.logs()
    assert [secret for secret in ("geheim", "lovelace", "builder", "PRIVATE") if secret in secured.logs()] == []
