"""One request, to whichever registry of a list answers.

The one that answered last is asked first. One that cannot be reached, or does not know who leads, hands over to the
next; when all have been asked there is a pause before the next round. A request that may have been carried out is sent
again only if that does no harm: a deletion that was not answered is not.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Final, Self

import httpx

from ottla.schemas.registry_client.errors import RegistryFailure, RegistryRefusal, RegistryUnreachable
from ottla.schemas.registry_client.settings import RegistryClientSettings

_MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_PAUSE_S: Final = 0.2
_PAUSE_MAX_S: Final = 2.0
_SERVER_ERROR: Final = 500


class Exchange:
    def __init__(self, settings: RegistryClientSettings) -> None:
        self._settings = settings
        self._first = 0
        user, _, password = (settings.user_info or "").partition(":")
        self._http = httpx.Client(
            auth=None if settings.user_info is None else (user, password),
            verify=_tls(settings) if any(url.startswith("https:") for url in settings.urls) else True,
            timeout=settings.request_timeout_ms / 1000,
            headers={"accept": f"{_MEDIA_TYPE}, application/json"},
        )

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, **query: str | int | None) -> Any:
        """The answer's JSON. RegistryRefusal or RegistryUnreachable if there is none."""
        content = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        wanted = {name: str(value) for name, value in query.items() if value is not None}
        failures: dict[str, str] = {}
        for round_number in range(self._settings.retries_max + 1):
            if round_number:
                time.sleep(min(_PAUSE_S * 2 ** (round_number - 1), _PAUSE_MAX_S))
            for step in range(len(self._settings.urls)):
                index = (self._first + step) % len(self._settings.urls)
                url = self._settings.urls[index]
                try:
                    answer = self._send(method, url + path, content, wanted)
                except httpx.HTTPError as error:
                    failures[url] = str(error) or type(error).__name__
                    if method == "DELETE" and not isinstance(error, httpx.ConnectError):
                        raise RegistryUnreachable(
                            f"{_describe(failures)}. It may have been deleted all the same"
                        ) from error
                    continue
                except RegistryRefusal as refusal:
                    if refusal.status < _SERVER_ERROR:
                        raise
                    failures[url] = f"{refusal} ({refusal.code})"
                    continue
                self._first = index
                return answer
        raise RegistryUnreachable(_describe(failures))

    def _send(self, method: str, url: str, content: bytes | None, query: Mapping[str, str]) -> Any:
        headers = {} if content is None else {"content-type": _MEDIA_TYPE}
        answer = self._http.request(method, url, content=content, params=query, headers=headers)
        if answer.is_success:
            try:
                return answer.json()
            except ValueError:
                raise RegistryFailure(f"{url} answered something that is not JSON; is it a registry?") from None
        raise _refusal_of(answer)


def _refusal_of(answer: httpx.Response) -> RegistryRefusal:
    try:
        fields = answer.json()
        return RegistryRefusal(answer.status_code, int(fields["error_code"]), str(fields["message"]))
    except (ValueError, KeyError, TypeError):
        shown = answer.reason_phrase or answer.text[:200]
        return RegistryRefusal(answer.status_code, answer.status_code, f"HTTP {answer.status_code} {shown}")


def _describe(failures: Mapping[str, str]) -> str:
    return "no registry answers: " + "; ".join(f"{url}: {failure}" for url, failure in failures.items())


def _tls(settings: RegistryClientSettings) -> Any:
    import ssl

    from ottla.schemas.registry_client.settings import InvalidRegistrySetting

    try:
        context = ssl.create_default_context(cafile=settings.ca_location)
        if settings.certificate_location is not None:
            context.load_cert_chain(settings.certificate_location, settings.key_location)
    except OSError as error:
        names = settings.ca_location, settings.certificate_location, settings.key_location
        files = ", ".join(filter(None, names))
        raise InvalidRegistrySetting(f"certificates cannot be read from {files}: {error}") from None
    return context
