"""Where registries are, and who asks: by the names that Confluent's clients use.

Java's serializers have these names as they stand; files that are shared with other settings may have the prefix
`schema.registry.` before them (`schema.registry.basic.auth.user.info`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

URL_PROPERTY: Final = "schema.registry.url"
_PREFIX: Final = "schema.registry."
_NAMES: Final = (
    "basic.auth.credentials.source",
    "basic.auth.user.info",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.key.password",
)
# What may be set, with and without the prefix.
PROPERTY_NAMES: Final = frozenset((URL_PROPERTY, *_NAMES, *(_PREFIX + name for name in _NAMES)))
_REMEDY: Final = "write it as http://127.0.0.1:8081"


class InvalidRegistrySetting(ValueError):
    """A setting that cannot be used; the message says which and what to write instead."""


@dataclass(frozen=True, slots=True)
class RegistryClientSettings:
    """`user_info` is USER:PASSWORD. `ca_location` is a file of certificates in PEM, instead of the system's;
    `certificate_location` and `key_location` are the client's own."""

    urls: tuple[str, ...]
    user_info: str | None = None
    ca_location: str | None = None
    certificate_location: str | None = None
    key_location: str | None = None
    key_password: str | None = None
    request_timeout_ms: int = 10_000
    # How often a list of registries is asked anew when none of them has served a request.
    retries_max: int = 3

    def __post_init__(self) -> None:
        if not self.urls:
            raise InvalidRegistrySetting(f"{URL_PROPERTY} is not set: {_REMEDY}")
        for url in self.urls:
            if not _is_address(url):
                # What stands before an @ may be a password.
                shown = url.rpartition("@")[2]
                raise InvalidRegistrySetting(f"{URL_PROPERTY}={shown} is not the address of a registry: {_REMEDY}")
            if "@" in urlsplit(url).netloc:
                raise InvalidRegistrySetting(f"{URL_PROPERTY} has a user in it: user_info is the place for it")

    def __repr__(self) -> str:
        """Without passwords: settings are shown in plans and logs."""
        return f"RegistryClientSettings(urls={self.urls})"


def read_client_settings(given: Mapping[str, str]) -> RegistryClientSettings:
    """InvalidRegistrySetting names a value that cannot be used."""

    def text(name: str) -> str | None:
        value = given.get(_PREFIX + name, given.get(name))
        return value.strip() or None if value is not None else None

    urls, user_info = _without_users(given.get(URL_PROPERTY, ""))
    source = (text("basic.auth.credentials.source") or "URL").upper()
    if source not in ("URL", "USER_INFO"):
        raise InvalidRegistrySetting(f"basic.auth.credentials.source={source} is not one of URL, USER_INFO")
    if source == "USER_INFO" and text("basic.auth.user.info") is None:
        raise InvalidRegistrySetting("basic.auth.user.info is not set: write it as USER:PASSWORD")
    return RegistryClientSettings(
        urls,
        text("basic.auth.user.info") or user_info,
        ca_location=text("ssl.ca.location"),
        certificate_location=text("ssl.certificate.location"),
        key_location=text("ssl.key.location"),
        key_password=text("ssl.key.password"),
    )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        # A port that is no number, or half of an IPv6 address.
        return False


def _without_users(text: str) -> tuple[tuple[str, ...], str | None]:
    """The addresses of a list without the user and password that one of them has, and these."""
    urls: list[str] = []
    user_info: str | None = None
    for one in filter(None, map(str.strip, text.split(","))):
        if not _is_address(one):
            urls.append(one)
            continue
        parts = urlsplit(one)
        given, separator, address = parts.netloc.rpartition("@")
        if separator:
            user_info = user_info or unquote(given)
        urls.append(urlunsplit(parts._replace(netloc=address)).rstrip("/"))
    return tuple(urls), user_info
