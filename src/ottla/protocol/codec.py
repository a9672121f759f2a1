"""Encoding and decoding of messages, compiled per (message, version) on first use.

The tables in the generated classes say what a version looks like. From them this module writes Python source for one
decoder and one encoder per message and version, with neighbouring fixed-size fields fused into one `struct` call, and
compiles it, as dataclasses do. A message that nobody uses costs nothing; one in use costs what hand-written code would.

Decoding is safe on hostile input: every length and count is compared with the bytes that are left before anything is
allocated, unknown tagged fields are skipped, and whatever is wrong ends in `MalformedMessage`. So does a message whose
arrays have more elements in all than the caller wants to hold.
"""

import struct
import sys
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from ottla.protocol.decoder_source import decoder_source
from ottla.protocol.encoder_source import encoder_source
from ottla.protocol.primitives import UVARINT_SMALL, read_uvarint, write_uvarint
from ottla.protocol.schema import Message, Records

M = TypeVar("M", bound=Message)

Decoder: TypeAlias = "Callable[[bytes | bytearray | memoryview, int, int, int], tuple[Any, int]]"
Encoder: TypeAlias = "Callable[[Any, Callable[[Records], None]], None]"

# A struct of a client of the far future may carry tags that we do not know; nobody sends hundreds.
UNKNOWN_TAGS_MAX = 256
# In all arrays of a message together, unless the caller says otherwise.
ELEMENTS_MAX = 10_000_000


class MalformedMessage(ValueError):
    """The bytes are not a message of that type and version: the peer is at fault."""


_decoders: dict[tuple[type[Message], int], Decoder] = {}
_encoders: dict[tuple[type[Message], int], Encoder] = {}


def decode(cls: type[M], buffer: bytes | bytearray | memoryview, version: int) -> M:
    """The message that fills the whole buffer."""
    message, end = decode_at(cls, buffer, version, 0)
    if end != len(buffer):
        raise MalformedMessage(f"{cls.__name__} v{version} ends at byte {end} of {len(buffer)}")
    return message


def decode_at(
    cls: type[M], buffer: bytes | bytearray | memoryview, version: int, start: int, elements_max: int = ELEMENTS_MAX
) -> tuple[M, int]:
    """The message that begins at `start`, and the position after it."""
    decoder = _decoders.get((cls, version)) or _compile_decoder(cls, version)
    try:
        return decoder(buffer, start, len(buffer), elements_max)
    except MalformedMessage:
        raise
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise MalformedMessage(f"{cls.__name__} v{version} cannot be read: {error}") from error


def encode(message: Message, version: int) -> bytes:
    """The message as bytes."""
    return b"".join(encode_parts(message, version))


def encode_parts(message: Message, version: int, *before: Records) -> list[Records]:
    """The message, behind what comes `before` it, as buffers to be written one after the other.

    Records are passed on, not copied.
    """
    cls = type(message)
    encoder = _encoders.get((cls, version)) or _compile_encoder(cls, version)
    parts = [*before]
    encoder(message, parts.append)
    return parts


def _check_version(cls: type[Message], version: int) -> None:
    if version not in cls.VERSIONS:
        raise ValueError(
            f"{cls.__name__} has no version {version}: it has {cls.VERSIONS.start}-{cls.VERSIONS.stop - 1}"
        )


def _compile_decoder(cls: type[Message], version: int) -> Decoder:
    _check_version(cls, version)
    namespace = _namespace(cls)
    source = decoder_source(cls, version)
    exec(compile(source, f"<decoder of {cls.__name__} v{version}>", "exec"), namespace)
    decoder: Decoder = namespace[f"decode_{cls.__name__}"]
    _decoders[cls, version] = decoder
    return decoder


def _compile_encoder(cls: type[Message], version: int) -> Encoder:
    _check_version(cls, version)
    namespace = _namespace(cls)
    source = encoder_source(cls, version)
    exec(compile(source, f"<encoder of {cls.__name__} v{version}>", "exec"), namespace)
    encoder: Encoder = namespace[f"encode_{cls.__name__}"]
    _encoders[cls, version] = encoder
    return encoder


def _namespace(cls: type[Message]) -> dict[str, Any]:
    """What compiled code may name: the structs of the message's module and a few primitives."""
    return {
        **vars(sys.modules[cls.__module__]),
        "MalformedMessage": MalformedMessage,
        "Struct": struct.Struct,
        "UVARINT_SMALL": UVARINT_SMALL,
        "UNKNOWN_TAGS_MAX": UNKNOWN_TAGS_MAX,
        "read_uvarint": read_uvarint,
        "write_uvarint": write_uvarint,
        "written": _written,
    }


def _written(encoder: Encoder, value: Any) -> bytes:
    """A value encoded on its own, for a tagged field, whose size goes before it."""
    parts: list[Records] = []
    encoder(value, parts.append)
    return b"".join(parts)
