import base64
import gzip
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from harness.http_answers import HttpAnswer, HttpRequest, answer, answering, refuse
from ottla.schemas.registry_client import exchange
from ottla.schemas.registry_client.errors import RegistryRefusal, RegistryUnreachable, UnexpectedAnswer
from ottla.schemas.registry_client.exchange import Exchange
from ottla.schemas.registry_client.settings import InvalidRegistrySetting, RegistryClientSettings


def settings(*urls: str, **more: object) -> RegistryClientSettings:
    return RegistryClientSettings(urls, **{"retries_max": 0, **more})  # type: ignore[arg-type]


@contextmanager
def refusing() -> Iterator[str]:
    """An address where nobody listens, and nobody will."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_a_request_has_its_path_query_body_and_media_type() -> None:
    with answering(lambda _: answer([1])) as server, Exchange(settings(f"{server.url}/below")) as asking:
        assert asking.ask("POST", "/subjects/a%2Fb", {"schema": "ö"}, normalize="true", version=None) == [1]
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/below/subjects/a%2Fb?normalize=true")
    assert request.body == b'{"schema":"\\u00f6"}'
    assert request.headers["content-type"] == "application/vnd.schemaregistry.v1+json"
    assert "authorization" not in request.headers


def test_who_asks_is_told_to_the_registry_and_to_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with (
        answering(lambda _: refuse(401, 401)) as server,
        Exchange(settings(server.url, user_info="ann:s:cret")) as asking,
        pytest.raises(RegistryRefusal) as refused,
    ):
        asking.ask("GET", "/")
    expected = "Basic " + base64.b64encode(b"ann:s:cret").decode()
    assert server.requests[0].headers["authorization"] == expected
    assert refused.value.status == 401
    for told in (str(refused.value), caplog.text):
        assert "cret" not in told
        assert expected not in told


def test_the_next_registry_is_asked_where_one_is_away_or_fails() -> None:
    with ExitStack() as stack:
        away = stack.enter_context(refusing())
        failing = stack.enter_context(answering(lambda _: HttpAnswer(503, b"<html>")))
        silent = stack.enter_context(answering(lambda _: None))
        alive = stack.enter_context(answering(lambda _: answer("here")))
        asking = stack.enter_context(Exchange(settings(away, failing.url, silent.url, alive.url)))
        assert asking.ask("GET", "/") == "here"
        assert asking.ask("GET", "/") == "here"
        # The one that answered last is asked first.
        assert (len(failing.requests), len(silent.requests), len(alive.requests)) == (1, 1, 2)


def test_what_each_registry_did_is_told_if_none_serves_the_request() -> None:
    with (
        refusing() as away,
        answering(lambda _: refuse(500, 50004, "no leader")) as leaderless,
        Exchange(settings(away, leaderless.url)) as asking,
        pytest.raises(RegistryUnreachable) as failed,
    ):
        asking.ask("GET", "/")
    assert away in str(failed.value)
    assert f"{leaderless.url}: no leader (50004)" in str(failed.value)


def test_all_are_asked_again_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_PAUSE_S", 0.001)
    answers = iter([refuse(500, 50001), HttpAnswer(502, b""), answer("here")])
    with (
        answering(lambda _: next(answers)) as server,
        Exchange(settings(server.url, retries_max=2)) as asking,
    ):
        assert asking.ask("PUT", "/config", {}) == "here"
    assert len(server.requests) == 3


@pytest.mark.parametrize("said", [None, refuse(500, 50002), HttpAnswer(503, b"")])
def test_a_deletion_that_may_have_been_carried_out_is_not_sent_again(said: HttpAnswer | None) -> None:
    with (
        answering(lambda _: said) as server,
        Exchange(settings(server.url, server.url, retries_max=3)) as asking,
        pytest.raises(RegistryUnreachable, match="may have been deleted all the same"),
    ):
        asking.ask("DELETE", "/subjects/s")
    assert len(server.requests) == 1


def test_a_deletion_that_nobody_carried_out_is_sent_to_the_next() -> None:
    with (
        refusing() as away,
        answering(lambda _: refuse(500, 50004)) as leaderless,
        answering(lambda _: answer([1])) as alive,
        Exchange(settings(away, leaderless.url, alive.url)) as asking,
    ):
        assert asking.ask("DELETE", "/subjects/s") == [1]


def test_a_refusal_is_final() -> None:
    with (
        answering(lambda _: refuse(409, 40901, "incompatible")) as server,
        Exchange(settings(server.url, server.url, retries_max=3)) as asking,
        pytest.raises(RegistryRefusal, match="incompatible") as refused,
    ):
        asking.ask("POST", "/subjects/s/versions", {})
    assert (refused.value.status, refused.value.code, len(server.requests)) == (409, 40901, 1)


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b'{"error_code":"x","message":1}', b"\xff"])
def test_a_refusal_in_another_shape_has_the_status_as_its_code(body: bytes) -> None:
    with (
        answering(lambda _: HttpAnswer(404, body)) as server,
        Exchange(settings(server.url)) as asking,
        pytest.raises(RegistryRefusal, match="HTTP 404 Not Found") as refused,
    ):
        asking.ask("GET", "/")
    assert refused.value.code == 404


@pytest.mark.parametrize("body", [b"<html>", b"", b"[" * 100_000, b"\xff\xfe"])
def test_what_is_not_json_is_no_registry(body: bytes) -> None:
    with (
        answering(lambda _: HttpAnswer(200, body)) as server,
        Exchange(settings(server.url)) as asking,
        pytest.raises(UnexpectedAnswer, match="is it a registry"),
    ):
        asking.ask("GET", "/")


def test_a_redirect_is_not_followed_with_the_users_password() -> None:
    with answering(lambda _: answer("stolen")) as elsewhere:

        def send_on(_: HttpRequest) -> HttpAnswer:
            return HttpAnswer(302, b"", (("location", elsewhere.url),))

        with (
            answering(send_on) as server,
            Exchange(settings(server.url, user_info="ann:secret")) as asking,
            pytest.raises(UnexpectedAnswer, match=f"on to {elsewhere.url}: name the registry's own address"),
        ):
            asking.ask("GET", "/")
        assert elsewhere.requests == []


def test_an_answer_that_does_not_come_is_given_up() -> None:
    ended = threading.Event()

    def hang(_: HttpRequest) -> HttpAnswer:
        ended.wait(30)
        return HttpAnswer()

    with (
        answering(hang) as server,
        Exchange(settings(server.url, request_timeout_ms=50)) as asking,
        pytest.raises(RegistryUnreachable, match="timed out"),
    ):
        try:
            asking.ask("GET", "/")
        finally:
            ended.set()


def test_an_answer_that_drips_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        stopped = threading.Event()

        def drip() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
                while not stopped.wait(0.01):
                    connection.sendall(b" ")

        thread = threading.Thread(target=drip)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with (
            Exchange(settings(url, request_timeout_ms=200)) as asking,
            pytest.raises(RegistryUnreachable, match="does not end"),
        ):
            try:
                asking.ask("GET", "/")
            finally:
                stopped.set()
                thread.join()


def test_an_answer_has_a_bound_even_if_it_comes_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "ANSWER_BYTES_MAX", 1000)
    bomb = HttpAnswer(200, gzip.compress(b" " * 100_000), (("content-encoding", "gzip"),))
    with (
        answering(lambda _: bomb) as server,
        Exchange(settings(server.url)) as asking,
        pytest.raises(UnexpectedAnswer, match="more than 1000 bytes"),
    ):
        asking.ask("GET", "/")


# -- TLS --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ca.pem, and server.pem and client.pem that it has signed, each with its key; the client's has a password."""
    home = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=home, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    openssl("req", "-x509", *key, "-noenc", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", "-days", "2")
    (home / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for name, secret in (("server", ("-noenc",)), ("client", ("-passout", "pass:open"))):
        openssl("req", *key, *secret, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", "2")
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}.pem")
    return home


@pytest.fixture
def tls(certificates: Path) -> ssl.SSLContext:
    """Of a server that wants to know its clients."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates / "ca.pem"))
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_both_sides_show_certificates(certificates: Path, tls: ssl.SSLContext) -> None:
    mine = {
        "ca_location": str(certificates / "ca.pem"),
        "certificate_location": str(certificates / "client.pem"),
        "key_location": str(certificates / "client.key"),
        "key_password": "open",
    }
    with answering(lambda _: answer("here"), tls) as server, Exchange(settings(server.url, **mine)) as asking:
        assert asking.ask("GET", "/") == "here"


def test_a_registry_with_an_unknown_certificate_is_not_asked(certificates: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    with (
        answering(lambda _: answer("here"), context) as server,
        Exchange(settings(server.url, user_info="ann:secret")) as asking,
        pytest.raises(RegistryUnreachable, match="certificate verify failed"),
    ):
        asking.ask("GET", "/")
    assert server.requests == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"ca_location": "nowhere.pem"},
        {"certificate_location": "client.pem", "key_location": "server.key"},
        {"certificate_location": "client.pem", "key_location": "client.key", "key_password": "secret"},
        {"certificate_location": "client.pem", "key_location": "client.key"},
    ],
)
def test_certificates_that_cannot_be_used_are_named(certificates: Path, wrong: dict[str, str]) -> None:
    placed = {name: text if name == "key_password" else str(certificates / text) for name, text in wrong.items()}
    with pytest.raises(InvalidRegistrySetting, match=r"\.pem") as refused:
        Exchange(settings("https://127.0.0.1", **placed))
    assert "secret" not in str(refused.value)


def test_httpx_is_imported_with_the_first_client_only() -> None:
    program = "import sys, ottla.schemas.registry_client.record_reading as _; sys.exit('httpx' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
