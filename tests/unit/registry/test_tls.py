"""Contexts that shake hands, in memory."""

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.certificates import Authority, Issued
from ottla.config.values import ConfigError, Password
from ottla.registry.tls import Store, TlsSettings, client_context, server_context

PASSWORD = "geheim"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def own(authority: Authority) -> Issued:
    return authority.issue("registry")


@pytest.fixture
def stores(tmp_path: Path, authority: Authority, own: Issued) -> Callable[..., TlsSettings]:
    """Settings with a key store and a trust store on disk."""
    (tmp_path / "key.p12").write_bytes(own.pkcs12(PASSWORD))
    (tmp_path / "trust.pem").write_bytes(authority.pem())

    def make(**others: object) -> TlsSettings:
        given: dict[str, object] = {
            "key_store": Store("ssl.keystore", str(tmp_path / "key.p12"), Password(PASSWORD)),
            "trust_store": Store("ssl.truststore", str(tmp_path / "trust.pem")),
        }
        return TlsSettings(**(given | others))  # type: ignore[arg-type]

    return make


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str = "localhost") -> str | None:
    """The version that they agree on; an SSLError if one of them does not want to."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        server.wrap_bio(to_server, to_client, server_side=True),
        client.wrap_bio(to_client, to_server, server_hostname=name),
    ]
    left = list(sides)
    for _ in range(20):
        for side in list(left):
            try:
                side.do_handshake()
                left.remove(side)
            except ssl.SSLWantReadError:
                continue
    # With TLS 1.3 a server refuses a certificate only after the client has finished.
    sides[0].write(b"x")
    assert sides[1].read(1) == b"x"
    return sides[0].version()


def test_instances_reach_each_other_with_the_same_stores(stores: Callable[..., TlsSettings]) -> None:
    settings = stores(client_authentication=ssl.CERT_REQUIRED)
    assert shake_hands(server_context(settings), client_context(settings)) == "TLSv1.3"


def test_a_version_may_be_chosen(stores: Callable[..., TlsSettings]) -> None:
    settings = stores(versions=(ssl.TLSVersion.TLSv1_2,))
    assert shake_hands(server_context(settings), client_context(settings)) == "TLSv1.2"


def test_a_name_that_the_certificate_does_not_have_is_refused_unless_nobody_looks(
    stores: Callable[..., TlsSettings],
) -> None:
    server = server_context(stores())
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(server, client_context(stores()), "registry.example")
    assert shake_hands(server, client_context(stores(checks_host_names=False)), "registry.example")


def test_others_than_the_trust_store_vouches_for_are_refused(
    stores: Callable[..., TlsSettings], tmp_path: Path
) -> None:
    (tmp_path / "other.pem").write_bytes(Authority("Other").pem())
    other = stores(trust_store=Store("ssl.truststore", str(tmp_path / "other.pem")))
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server_context(stores()), client_context(other))
    with pytest.raises(ssl.SSLError):
        shake_hands(
            server_context(stores(client_authentication=ssl.CERT_REQUIRED)), client_context(stores(key_store=None))
        )


def test_what_is_wrong_with_a_file_is_told_with_its_name_and_without_its_password(
    stores: Callable[..., TlsSettings], tmp_path: Path, own: Issued, authority: Authority
) -> None:
    stranger = authority.issue("stranger")
    (tmp_path / "mixed.pem").write_bytes(own.key_pem() + stranger.chain_pem())
    cases = {
        Store("ssl.keystore", str(tmp_path / "key.p12"), Password("verkehrt")): "the password does not fit",
        Store("ssl.keystore", str(tmp_path / "nothing")): "No such file",
        Store("ssl.keystore", str(tmp_path)): "is a directory",
        Store("ssl.keystore", str(tmp_path / "mixed.pem")): "do not belong to its private key",
    }
    for store, message in cases.items():
        with pytest.raises(ConfigError, match=message) as refused:
            server_context(stores(key_store=store))
        assert f"ssl.keystore.location={store.location}" in str(refused.value)
        assert "verkehrt" not in str(refused.value)
