"""Checks a record where the program hands it over: a wrong type is reported there, and harms no other record."""

from typing import Any, Final

from ottla.protocol.records import Headers

_BYTES: Final = (bytes, bytearray, memoryview)


def check_record(key: Any, value: Any, headers: Headers, partition: Any, timestamp_ms: Any) -> None:
    """Raise a TypeError that names what cannot be sent."""
    if value is not None and not isinstance(value, _BYTES):
        raise _wrong("value", value)
    if key is not None and not isinstance(key, _BYTES):
        raise _wrong("key", key)
    if partition is not None and type(partition) is not int:
        raise TypeError(f"partition must be an int, not {type(partition).__name__}")
    if timestamp_ms is not None and type(timestamp_ms) is not int:
        raise TypeError(f"timestamp_ms must be an int, not {type(timestamp_ms).__name__}")
    if headers:
        _check_headers(headers)


def _check_headers(headers: Any) -> None:
    if not isinstance(headers, list | tuple):
        raise TypeError(f"headers must be a list of (name, value) pairs, not {type(headers).__name__}")
    for header in headers:
        if not isinstance(header, tuple | list) or len(header) != 2 or not isinstance(header[0], str):
            raise TypeError(f"a header must be a pair of str and bytes, not {header!r}")
        if header[1] is not None and not isinstance(header[1], _BYTES):
            raise _wrong(f"the value of header {header[0]!r}", header[1])


def _wrong(what: str, given: object) -> TypeError:
    remedy = ": encode it, as in text.encode()" if isinstance(given, str) else ""
    return TypeError(f"{what} must be bytes, not {type(given).__name__}{remedy}")
