"""Passwords of users: as they are, or as hashes that tell nobody what they were.

A hash is `SCRYPT:n:r:p:salt:hash`, the last two in base64. To make one:

    python -c "import getpass; from ottla.registry.passwords import hash_password as h; print(h(getpass.getpass()))"
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from dataclasses import dataclass
from typing import Final

_SCRYPT: Final = "SCRYPT:"
# Forms of Jetty's that anybody can turn back, or nearly so.
_WEAK: Final = ("OBF:", "MD5:", "CRYPT:")
_SALT_BYTES: Final = 16
_HASH_BYTES: Final = 32
# 16 MiB and about 50 ms for a guess.
_N, _R, _P = 2**14, 8, 1
# What a line of the file may cost whoever logs in.
_N_MAX, _R_MAX, _P_MAX = 2**17, 16, 4


class UnusablePassword(ValueError):
    """What stands for a password cannot be one; the message does not repeat it."""


@dataclass(frozen=True, slots=True)
class HashedPassword:
    salt: bytes
    digest: bytes
    n: int = _N
    r: int = _R
    p: int = _P

    def fits(self, password: str) -> bool:
        return hmac.compare_digest(self.digest, _derive(password, self.salt, self.n, self.r, self.p))

    def __repr__(self) -> str:
        return "HashedPassword([hidden])"


@dataclass(frozen=True, slots=True)
class PlainPassword:
    text: str

    def fits(self, password: str) -> bool:
        # Of equal lengths, so that the time tells nothing about the length either.
        return hmac.compare_digest(_digest(self.text), _digest(password))

    def __repr__(self) -> str:
        return "PlainPassword([hidden])"


StoredPassword = HashedPassword | PlainPassword


def hash_password(password: str) -> str:
    """What to write into the file of users instead of the password."""
    salt = os.urandom(_SALT_BYTES)
    digest = _derive(password, salt, _N, _R, _P)
    return f"{_SCRYPT}{_N}:{_R}:{_P}:{_encode(salt)}:{_encode(digest)}"


def read_password(text: str) -> StoredPassword:
    """UnusablePassword for one that is empty, damaged, or in a form that protects nothing."""
    if not text:
        raise UnusablePassword("the password is empty")
    if text.startswith(_WEAK):
        form = text.partition(":")[0]
        raise UnusablePassword(f"passwords of the form {form}: are not read: they are no secret. Write a SCRYPT: hash")
    if not text.startswith(_SCRYPT):
        return PlainPassword(text)
    try:
        n, r, p, salt, digest = text.removeprefix(_SCRYPT).split(":")
        found = HashedPassword(
            base64.b64decode(salt, validate=True), base64.b64decode(digest, validate=True), int(n), int(r), int(p)
        )
    except (ValueError, binascii.Error):
        raise UnusablePassword("the SCRYPT: hash is damaged") from None
    if not (1 < found.n <= _N_MAX and 0 < found.r <= _R_MAX and 0 < found.p <= _P_MAX and found.n.bit_count() == 1):
        raise UnusablePassword(
            f"the SCRYPT: hash needs n, r, p of at most {_N_MAX}, {_R_MAX}, {_P_MAX}, n a power of 2"
        )
    if len(found.digest) != _HASH_BYTES:
        raise UnusablePassword("the SCRYPT: hash is damaged")
    return found


def _derive(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    memory = 128 * r * (n + p + 2)
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"), salt=salt, n=n, r=r, p=p, maxmem=2 * memory, dklen=_HASH_BYTES
    )


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
