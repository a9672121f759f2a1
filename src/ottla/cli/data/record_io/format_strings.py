"""Records by a format string, in kcat's directives and rpk's.

Both agree on %t (topic), %p, %o, %k, %K (length of the key). kcat's own are %s, %S (value and its length), %R (that
length as four bytes), %h (headers as n=v,...) and %T (timestamp); rpk's own are %v, %V, %d (timestamp), %h{...}, %H
(number of headers), %e, %a, %x, %y, %[ %| %], %i, %T (length of the topic) and all modifiers in braces.

So only %T means two things. It is rpk's in a format that uses anything of rpk's own, else kcat's. By the same rule the
length of a null is 0 or -1.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ottla.cli.data.record_io.format_modifiers import number_format, text_format, time_format
from ottla.cli.data.record_io.format_tokens import Directive, Token, tokens_of

if TYPE_CHECKING:
    from ottla.client import Record
    from ottla.client.consumer import PartitionBounds

_RPK_LETTERS: Final = frozenset("vVdeHaxyi[|]")
_LETTERS: Final = "%t %p %o %k %K %v %V %s %S %R %T %d %h %H %e %a %x %y %i %[ %| %]"
_CODECS: Final = (b"none", b"gzip", b"snappy", b"lz4", b"zstd")


@dataclass(slots=True)
class Shown:
    """What a format may speak of: a record, how many were written with it, and the ends of its partition."""

    record: "Record"
    count: int
    bounds: "PartitionBounds | None"


Part = Callable[[Shown], bytes]
HeaderPart = Callable[[str, bytes | None], bytes]


def compile_format(text: str, null: bytes = b"") -> Part:
    """From a format to the function that writes a record by it; `null` stands for null keys and values."""
    tokens = tokens_of(text)
    is_rpk = any(
        isinstance(token, Directive) and (token.letter in _RPK_LETTERS or token.modifier is not None)
        for token in tokens
    )
    parts = [_part(token, null, is_rpk=is_rpk) for token in tokens]
    if len(parts) == 1:
        return parts[0]
    return lambda shown: b"".join([part(shown) for part in parts])


def _part(token: Token, null: bytes, *, is_rpk: bool) -> Part:
    if isinstance(token, bytes):
        literal = token
        return lambda _: literal
    letter, modifier = token.letter, token.modifier
    if letter == "h":
        return _csv_headers if modifier is None else _headers(modifier, null)
    if letter == "a":
        return _attribute(modifier)
    if letter == "d" or (letter == "T" and not is_rpk):
        in_time = time_format(modifier)
        return lambda shown: in_time(shown.record.timestamp_ms)
    text = _TEXTS.get(letter)
    if text is not None:
        written = _or_null(text_format(modifier), null)
        return lambda shown: written(text(shown.record))
    number = _number(letter, is_rpk=is_rpk)
    if number is None:
        raise ValueError(f"{token} is not a directive: there are {_LETTERS}")
    in_digits = number_format("big32" if letter == "R" else modifier)
    return lambda shown: in_digits(number(shown))


_TEXTS: Final[dict[str, Callable[["Record"], bytes | None]]] = {
    "t": lambda record: record.topic.encode(),
    "k": lambda record: record.key,
    "v": lambda record: record.value,
    "s": lambda record: record.value,
}

_NUMBERS: Final[dict[str, Callable[[Shown], int]]] = {
    "p": lambda shown: shown.record.partition,
    "o": lambda shown: shown.record.offset,
    "e": lambda shown: shown.record.leader_epoch,
    "x": lambda shown: shown.record.batch.producer_id,
    "y": lambda shown: shown.record.batch.producer_epoch,
    "H": lambda shown: len(shown.record.headers),
    "T": lambda shown: len(shown.record.topic),
    "i": lambda shown: shown.count,
    "[": lambda shown: -1 if shown.bounds is None else shown.bounds.log_start_offset,
    "|": lambda shown: -1 if shown.bounds is None else shown.bounds.last_stable_offset,
    "]": lambda shown: -1 if shown.bounds is None else shown.bounds.high_watermark,
}


def _number(letter: str, *, is_rpk: bool) -> Callable[[Shown], int] | None:
    of_null = 0 if is_rpk else -1
    if letter == "K":
        return lambda shown: of_null if shown.record.key is None else len(shown.record.key)
    if letter in "VSR":
        return lambda shown: of_null if shown.record.value is None else len(shown.record.value)
    return _NUMBERS.get(letter)


def _or_null(write: Callable[[bytes], bytes], null: bytes) -> Callable[[bytes | None], bytes]:
    return lambda data: null if data is None else write(data)


def _csv_headers(shown: Shown) -> bytes:
    return b",".join(
        name.encode() + b"=" + (b"NULL" if value is None else value) for name, value in shown.record.headers
    )


def _headers(modifier: str, null: bytes) -> Part:
    parts = [_header_part(token, null) for token in tokens_of(modifier)]

    def each(headers: Iterable[tuple[str, bytes | None]]) -> bytes:
        return b"".join([part(name, value) for name, value in headers for part in parts])

    return lambda shown: each(shown.record.headers)


def _header_part(token: Token, null: bytes) -> HeaderPart:
    if isinstance(token, bytes):
        literal = token
        return lambda _name, _value: literal
    if token.letter in "kv":
        text = _or_null(text_format(token.modifier), null)
        return (lambda name, _: text(name.encode())) if token.letter == "k" else (lambda _, value: text(value))
    if token.letter in "KV":
        number = number_format(token.modifier)
        if token.letter == "K":
            return lambda name, _: number(len(name.encode()))
        return lambda _, value: number(len(value or b""))
    raise ValueError(f"{token} is not a directive of a header: there are %k %v %K %V")


_ATTRIBUTES: Final[dict[str, Callable[["Record"], int]]] = {
    "compression": lambda record: record.batch.attributes & 7,
    "timestamp-type": lambda record: int(record.timestamp_type),
    "transactional-bit": lambda record: int(record.batch.is_transactional),
    "control-bit": lambda record: int(record.batch.is_control),
}


def _attribute(modifier: str | None) -> Part:
    name, separator, form = (modifier or "").partition(";")
    attribute = _ATTRIBUTES.get(name)
    if attribute is None:
        raise ValueError(f"%a{{{name}}} is not an attribute: there are {', '.join(_ATTRIBUTES)}")
    if name == "compression" and not separator:
        return lambda shown: _CODECS[attribute(shown.record)]
    number = number_format("" if form == "number" else form)
    return lambda shown: number(attribute(shown.record))
