import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from harness.certificates import Authority
from ottla.keystores import KeyEntry, UnreadableStore, read_key_store, read_trust_store

AUTHORITY = Authority()
OWN = AUTHORITY.issue("own")
PASSWORD = "pass,word=1"
ENTRY = KeyEntry(OWN.key_pem(), OWN.chain_pem())


def trusted(*certificates: Authority) -> bytes:
    entries = [pkcs12.PKCS12Certificate(one.certificate, None) for one in certificates]
    return pkcs12.serialize_key_and_certificates(None, None, None, entries, BestAvailableEncryption(PASSWORD.encode()))


def test_a_pem_store_has_a_key_and_its_certificates_in_any_order() -> None:
    assert read_key_store(OWN.key_pem() + OWN.chain_pem(), None) == ENTRY
    assert read_key_store(OWN.chain_pem() + b"\n# a remark\n" + OWN.key_pem(), None) == ENTRY


def test_a_key_in_pem_may_be_encrypted() -> None:
    assert read_key_store(OWN.key_pem(PASSWORD) + OWN.chain_pem(), None, PASSWORD) == ENTRY


def test_a_pkcs12_store_has_the_chain_of_its_key_as_far_as_it_goes() -> None:
    entry = read_key_store(OWN.pkcs12(PASSWORD), PASSWORD)
    assert entry == KeyEntry(OWN.key_pem(), OWN.chain_pem() + AUTHORITY.pem())


def test_certificates_of_others_are_no_part_of_the_chain() -> None:
    secret = BestAvailableEncryption(PASSWORD.encode())
    store = pkcs12.serialize_key_and_certificates(
        b"own", OWN.key, OWN.certificate, [Authority("Other").certificate], secret
    )
    assert read_key_store(store, PASSWORD) == ENTRY


def test_trust_stores_have_certificates_in_both_forms() -> None:
    other = Authority("Other")
    assert read_trust_store(AUTHORITY.pem() + other.pem(), None).encode() == AUTHORITY.pem() + other.pem()
    assert read_trust_store(trusted(AUTHORITY, other), PASSWORD).encode() == AUTHORITY.pem() + other.pem()


@pytest.mark.parametrize(
    ("data", "password", "key_password", "message"),
    [
        (OWN.pkcs12(PASSWORD), "wrong", None, "the password does not fit"),
        (OWN.pkcs12(PASSWORD), None, None, "needs its password"),
        (OWN.pkcs12(PASSWORD)[:-20], PASSWORD, None, "damaged"),
        (trusted(AUTHORITY), PASSWORD, None, "no private key"),
        (OWN.key_pem(PASSWORD) + OWN.chain_pem(), None, "wrong", "the password does not fit"),
        (OWN.key_pem(PASSWORD) + OWN.chain_pem(), None, None, "set ssl.key.password"),
        (OWN.key_pem() + OWN.chain_pem(), PASSWORD, None, "a PEM store has no password"),
        (OWN.key_pem(), None, None, "no certificates"),
        (OWN.chain_pem(), None, None, "0 private keys"),
        (OWN.key_pem() * 2 + OWN.chain_pem(), None, None, "2 private keys"),
        (bytes.fromhex("feedfeed00000002"), PASSWORD, None, "keytool -importkeystore"),
        (b"PK\x03\x04", PASSWORD, None, "neither PEM nor PKCS12"),
        (b"", PASSWORD, None, "neither PEM nor PKCS12"),
    ],
)
def test_what_is_wrong_with_a_key_store_is_told_without_its_password(
    data: bytes, password: str | None, key_password: str | None, message: str
) -> None:
    with pytest.raises(UnreadableStore, match=message) as refused:
        read_key_store(data, password, key_password)
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    ("data", "password", "message"),
    [(b"-----BEGIN nothing-----", None, "no certificates"), (trusted(AUTHORITY), "wrong", "does not fit")],
)
def test_what_is_wrong_with_a_trust_store_is_told(data: bytes, password: str | None, message: str) -> None:
    with pytest.raises(UnreadableStore, match=message):
        read_trust_store(data, password)


def test_a_key_does_not_show_in_a_log() -> None:
    assert "PRIVATE" not in repr(ENTRY)
