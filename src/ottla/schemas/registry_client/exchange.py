"""One request, to whichever registry of a list serves it.

The one that answered last is asked first. One that cannot be reached, or that fails, hands over to the next; when all
have been asked there is a pause before the next round. A request that may have been carried out is sent again only if
that does no harm: a deletion is not, unless it is certain that nobody has carried it out.

Whoever answers may be anybody. So an answer has a bound in bytes and in time, and redirects are not followed: they
would carry a user's password to wherever they lead.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from ottla.schemas.registry_client.errors import NO_LEADER, RegistryRefusal, RegistryUnreachable, UnexpectedAnswer
from ottla.schemas.registry_client.settings import InvalidRegistrySetting, RegistryClientSettings

if TYPE_CHECKING:
    # It takes as long to import as all the rest: it is imported with the first client.
    import httpx

_MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_PAUSE_S: Final = 0.2
_PAUSE_MAX_S: Final = 2.0
# All schemas of a large registry.
ANSWER_BYTES_MAX: Final = 1 << 28
_SHOWN_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    reason: str
    location: str
    body: bytes


class _Failed(Exception):
    """A registry has not served a request; the message says why."""

    def __init__(self, message: str, *, is_untouched: bool) -> None:
        super().__init__(message)
        # Whether it is certain that nothing was changed.
        self.is_untouched = is_untouched


class Exchange:
    """Not for several threads at once."""

    def __init__(self, settings: RegistryClientSettings) -> None:
        import httpx

        self._settings = settings
        self._first = 0
        user, _, password = (settings.user_info or "").partition(":")
        self._http = httpx.Client(
            auth=None if settings.user_info is None else (user, password),
            verify=_tls(settings),
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
        """The answer's JSON. Raises RegistryRefusal, RegistryUnreachable or UnexpectedAnswer."""
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
                    answer = self._serve(method, url, path, content, wanted)
                except _Failed as failed:
                    failures[url] = str(failed)
                    if method == "DELETE" and not failed.is_untouched:
                        raise RegistryUnreachable(
                            f"{_describe(failures)}. It may have been deleted all the same"
                        ) from failed
                    continue
                self._first = index
                return answer
        raise RegistryUnreachable(_describe(failures))

    def _serve(self, method: str, url: str, path: str, content: bytes | None, query: Mapping[str, str]) -> Any:
        import httpx

        try:
            answer = self._send(method, url + path, content, query)
        except httpx.HTTPError as error:
            raise _Failed(str(error) or type(error).__name__, is_untouched=_is_unsent(error)) from error
        except httpx.InvalidURL as error:
            raise UnexpectedAnswer(f"{url} cannot be asked: {error}") from None
        if 200 <= answer.status < 300:
            try:
                return json.loads(answer.body)
            except (ValueError, RecursionError):
                raise UnexpectedAnswer(f"{url} answers something that is not JSON: is it a registry?") from None
        if 300 <= answer.status < 400:
            shown = answer.location[:_SHOWN_MAX] or "nowhere"
            raise UnexpectedAnswer(f"{url} sends its clients on to {shown}: name the registry's own address")
        refusal = _refusal_of(answer)
        if answer.status < 500:
            raise refusal
        raise _Failed(f"{refusal} ({refusal.code})", is_untouched=refusal.code == NO_LEADER)

    def _send(self, method: str, url: str, content: bytes | None, query: Mapping[str, str]) -> _Answer:
        import httpx

        headers = {} if content is None else {"content-type": _MEDIA_TYPE}
        # Without this an answer that drips would take for ever: each drop is in time.
        deadline_s = time.monotonic() + self._settings.request_timeout_ms / 1000
        body = bytearray()
        with self._http.stream(method, url, content=content, params=query, headers=headers) as answer:
            for piece in answer.iter_bytes():
                body += piece
                if len(body) > ANSWER_BYTES_MAX:
                    raise UnexpectedAnswer(f"{url} answers more than {ANSWER_BYTES_MAX} bytes")
                if time.monotonic() > deadline_s:
                    raise httpx.ReadTimeout("the answer does not end")
            return _Answer(answer.status_code, answer.reason_phrase, answer.headers.get("location", ""), bytes(body))


def _is_unsent(error: httpx.HTTPError) -> bool:
    import httpx

    return isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)


def _refusal_of(answer: _Answer) -> RegistryRefusal:
    try:
        fields = json.loads(answer.body)
        return RegistryRefusal(answer.status, int(fields["error_code"]), str(fields["message"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        shown = answer.reason or answer.body[:_SHOWN_MAX].decode(errors="replace")
        return RegistryRefusal(answer.status, answer.status, f"HTTP {answer.status} {shown}")


def _describe(failures: Mapping[str, str]) -> str:
    return "no registry serves the request: " + "; ".join(f"{url}: {failure}" for url, failure in failures.items())


def _tls(settings: RegistryClientSettings) -> ssl.SSLContext | bool:
    if not any(url.startswith("https:") for url in settings.urls):
        return True
    files = ", ".join(filter(None, (settings.ca_location, settings.certificate_location, settings.key_location)))
    try:
        context = ssl.create_default_context(cafile=settings.ca_location)
        if settings.certificate_location is not None:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(
                settings.certificate_location, settings.key_location, lambda: settings.key_password or ""
            )
    except OSError as error:
        raise InvalidRegistrySetting(f"certificates cannot be read from {files}: {error}") from None
    return context
