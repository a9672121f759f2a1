"""TLS of a registry's listeners, and of the connections over which instances reach their leader.

The same two stores serve both: an instance shows others the certificate that it shows clients, and believes those whom
its trust store vouches for. Passwords are in no message and in no `repr`.
"""

from __future__ import annotations

import os
import ssl
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ottla.config.values import ConfigError, Password
from ottla.keystores import KeyEntry, UnreadableStore, read_key_store, read_trust_store

CLIENT_AUTHENTICATION: Final = {
    "NONE": ssl.CERT_NONE,
    "REQUESTED": ssl.CERT_OPTIONAL,
    "REQUIRED": ssl.CERT_REQUIRED,
}
PROTOCOLS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_STORE_BYTES_MAX: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Store:
    """A file, and by which names it was set: `ssl.keystore` or `ssl.truststore`."""

    name: str
    location: str
    password: Password | None = None


@dataclass(frozen=True, slots=True)
class TlsSettings:
    key_store: Store | None = None
    key_password: Password | None = None
    trust_store: Store | None = None
    client_authentication: ssl.VerifyMode = ssl.CERT_NONE
    # ssl.enabled.protocols
    versions: tuple[ssl.TLSVersion, ...] = tuple(PROTOCOLS.values())
    # ssl.endpoint.identification.algorithm
    checks_host_names: bool = True


def server_context(settings: TlsSettings) -> ssl.SSLContext:
    """What an https listener needs. ConfigError names a file or password that does not fit."""
    assert settings.key_store is not None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.minimum_version, context.maximum_version = min(settings.versions), max(settings.versions)
    _load_key(context, settings.key_store, settings.key_password)
    if settings.trust_store is not None:
        _load_trust(context, settings.trust_store)
    context.verify_mode = settings.client_authentication
    return context


def client_context(settings: TlsSettings) -> ssl.SSLContext:
    """What reaches the leader. An instance with a key store alone believes whoever the system trusts.

    One without any store has no business with TLS, believes nobody, and starts without reading what the system trusts.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if settings.trust_store is not None:
        _load_trust(context, settings.trust_store)
    elif settings.key_store is not None:
        context.load_default_certs()
    context.minimum_version, context.maximum_version = min(settings.versions), max(settings.versions)
    context.check_hostname = settings.checks_host_names
    if settings.key_store is not None:
        _load_key(context, settings.key_store, settings.key_password)
    return context


def _load_key(context: ssl.SSLContext, store: Store, key_password: Password | None) -> None:
    try:
        entry = read_key_store(_content(store), _text(store.password), _text(key_password))
        with _path_of(entry) as path:
            context.load_cert_chain(path)
    except UnreadableStore as error:
        raise _unusable(store, str(error)) from None
    except ssl.SSLError:
        raise _unusable(store, "its certificates do not belong to its private key") from None


def _load_trust(context: ssl.SSLContext, store: Store) -> None:
    try:
        context.load_verify_locations(cadata=read_trust_store(_content(store), _text(store.password)))
    except UnreadableStore as error:
        raise _unusable(store, str(error)) from None
    except ssl.SSLError as error:
        raise _unusable(store, f"its certificates cannot be used: {error.reason}") from None


def _content(store: Store) -> bytes:
    path = Path(store.location)
    try:
        if path.is_dir():
            raise _unusable(store, "it is a directory: name the file in it")
        if path.stat().st_size > _STORE_BYTES_MAX:
            raise _unusable(store, f"it has more than {_STORE_BYTES_MAX} bytes: is this really a store?")
        return path.read_bytes()
    except OSError as error:
        raise _unusable(store, f"{error.strerror}. Check the path and its permissions") from None


def _unusable(store: Store, why: str) -> ConfigError:
    return ConfigError(f"{store.name}.location={store.location}: {why}.")


def _text(password: Password | None) -> str | None:
    return None if password is None else password.value


@contextmanager
def _path_of(entry: KeyEntry) -> Iterator[str]:
    """A file of the entry, which `ssl` insists on: in memory alone on Linux, else one that nobody else can read."""
    if sys.platform == "linux":
        descriptor = os.memfd_create("key")
        path = f"/proc/self/fd/{descriptor}"
    else:
        descriptor, path = tempfile.mkstemp()
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(entry.key_pem + entry.chain_pem)
            file.flush()
            yield path
    finally:
        if sys.platform != "linux":
            Path(path).unlink()
