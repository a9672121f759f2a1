"""Reads key stores and trust stores.

What a store is shows in its first bytes, as in the JDK, which reads PKCS12 under the type JKS as well. A store of
several keys is refused: nobody could say which one was meant. No message has a password in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates
    from cryptography.x509 import Certificate

_JKS_MAGIC: Final = bytes.fromhex("feedfeed")
# An ASN.1 sequence, which a PKCS12 store is.
_SEQUENCE: Final = b"\x30"
# The object identifier of an encrypted private key, before each one that a PKCS12 store has.
_PKCS12_KEY: Final = bytes.fromhex("060b2a864886f70d010c0a0102")
_PEM_KEY: Final = re.compile(rb"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?-----END \1-----", re.DOTALL)
_CONVERT: Final = (
    "convert it: keytool -importkeystore -srckeystore OLD -destkeystore NEW.p12 -deststoretype PKCS12, and name NEW.p12"
)


class UnreadableStore(Exception):
    """A store that cannot be read, or does not have what is wanted; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A private key and the certificates that belong to it, its own first; PEM, the key not encrypted."""

    key_pem: bytes
    chain_pem: bytes

    def __repr__(self) -> str:
        return "KeyEntry([hidden])"


class _Form(Enum):
    PEM = "PEM"
    PKCS12 = "PKCS12"


def read_key_store(data: bytes, password: str | None, key_password: str | None = None) -> KeyEntry:
    """`password` opens a PKCS12 store, `key_password` a key in PEM that is encrypted."""
    if _form(data) is _Form.PEM:
        if password is not None:
            raise UnreadableStore("a PEM store has no password, but its key may have one: set ssl.key.password alone")
        return _pem_entry(data, key_password)
    opened = _open_pkcs12(data, password)
    if (count := data.count(_PKCS12_KEY)) > 1:
        raise UnreadableStore(f"there are {count} private keys in it, and one is wanted: make a store for it alone")
    if opened.key is None or opened.cert is None:
        raise UnreadableStore("there is no private key with a certificate in it")
    others = [one.certificate for one in opened.additional_certs]
    return KeyEntry(_private_pem(opened.key), _pem([opened.cert.certificate, *_chain(opened.cert.certificate, others)]))


def read_trust_store(data: bytes, password: str | None) -> str:
    """The certificates of a trust store, in PEM."""
    if _form(data) is _Form.PEM:
        return _pem(_pem_certificates(data)).decode("ascii")
    opened = _open_pkcs12(data, password)
    found = [one.certificate for one in opened.additional_certs]
    if opened.cert is not None:
        found.append(opened.cert.certificate)
    if not found:
        raise UnreadableStore("there are no certificates in it")
    return _pem(found).decode("ascii")


def _form(data: bytes) -> _Form:
    if b"-----BEGIN " in data:
        return _Form.PEM
    if data.startswith(_JKS_MAGIC):
        raise UnreadableStore(f"it is a JKS store, which is not read: {_CONVERT}")
    if data.startswith(_SEQUENCE):
        return _Form.PKCS12
    raise UnreadableStore("it is neither PEM nor PKCS12")


# -- PEM --------------------------------------------------------------------------------------------------------------


def _pem_entry(data: bytes, key_password: str | None) -> KeyEntry:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    keys = [match[0] for match in _PEM_KEY.finditer(data)]
    if len(keys) != 1:
        raise UnreadableStore(f"there are {len(keys)} private keys in it, and one is wanted, before its certificates")
    is_encrypted = b"ENCRYPTED" in keys[0]
    if is_encrypted and key_password is None:
        raise UnreadableStore("its private key is encrypted: set ssl.key.password")
    try:
        key = load_pem_private_key(keys[0], key_password.encode() if is_encrypted and key_password else None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        why = "the password does not fit (ssl.key.password), or it is damaged" if is_encrypted else str(error)
        raise UnreadableStore(f"its private key cannot be read: {why}") from None
    return KeyEntry(_private_pem(key), _pem(_pem_certificates(data)))


def _pem_certificates(data: bytes) -> list[Certificate]:
    from cryptography.x509 import load_pem_x509_certificates

    try:
        return load_pem_x509_certificates(data)
    except ValueError:
        raise UnreadableStore("there are no certificates in it that can be read") from None


# -- PKCS12 -----------------------------------------------------------------------------------------------------------


def _open_pkcs12(data: bytes, password: str | None) -> PKCS12KeyAndCertificates:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

    if password is None:
        raise UnreadableStore("a PKCS12 store needs its password")
    try:
        return load_pkcs12(data, password.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise UnreadableStore("the password does not fit, or the store is damaged") from None


def _chain(own: Certificate, others: list[Certificate]) -> Iterable[Certificate]:
    """The issuers of a certificate, as far as they are among others. What else there is belongs to other entries."""
    at = own
    left = list(others)
    while at.issuer != at.subject:
        issuer = next((one for one in left if one.subject == at.issuer), None)
        if issuer is None:
            return
        left.remove(issuer)
        yield issuer
        at = issuer


def _private_pem(key: object) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    found: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())  # type: ignore[attr-defined]
    return found


def _pem(certificates: Iterable[Certificate]) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return b"".join(one.public_bytes(Encoding.PEM) for one in certificates)
