"""Kafka's ids: 16 raw bytes, written for people as 22 characters of URL-safe base64.

They stay `bytes` everywhere inside, because a Fetch names its topics by id and an object for each would cost more than
the rest of the row.
"""

import base64
import binascii
import secrets

ZERO_UUID = bytes(16)
# The id that Kafka reserves for the metadata log's own topic.
METADATA_TOPIC_ID = bytes(15) + b"\x01"
_RESERVED_BELOW = 100


def random_uuid() -> bytes:
    """A new random (version 4) id, never one of the reserved ones and never one whose text begins with a dash.

    Kafka avoids the dash because its command-line tools would read such an id as an option.
    """
    while True:
        raw = bytearray(secrets.token_bytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        if int.from_bytes(raw) >= _RESERVED_BELOW and not uuid_to_text(raw).startswith("-"):
            return bytes(raw)


def uuid_to_text(raw: bytes | bytearray) -> str:
    """The 22 characters that Kafka prints for an id."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def uuid_from_text(text: str) -> bytes:
    """Parse an id; the ValueError names a text that is not one."""
    try:
        raw = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 16 or len(text) != 22:
        raise ValueError(
            f"{text!r} is not an id: expected 22 characters of URL-safe base64, such as {uuid_to_text(ZERO_UUID)}"
        )
    return raw
