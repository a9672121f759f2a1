r"""Java's .properties format, complete.

Keys end at the first unescaped `=`, `:` or white space; `#` and `!` start comments at the beginning of a line only; a
backslash at the end of a line joins it with the next one without its leading white space; escapes are `\t \n \r \f
\uXXXX`, and a backslash before anything else is dropped. A later line for a key replaces an earlier one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ottla.config.values import ConfigError

_WHITE_SPACE: Final = " \t\f"
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# A configuration is a few kilobytes; anything near this is the wrong file.
_FILE_SIZE_MAX_BYTES: Final = 8 * 1024 * 1024


def load_properties(path: Path) -> dict[str, str]:
    """The properties of a file, or ConfigError when it cannot be read."""
    try:
        if path.is_dir():
            raise ConfigError(f"{path} is a directory: name the properties file in it.")
        if path.stat().st_size > _FILE_SIZE_MAX_BYTES:
            raise ConfigError(f"{path} has more than {_FILE_SIZE_MAX_BYTES} bytes: is this really a properties file?")
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}. Check the path and its permissions.") from error
    try:
        return parse_properties(_text(content))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _text(content: bytes) -> str:
    # Java reads these files as Latin-1; people write them as UTF-8. For ASCII the two agree.
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def parse_properties(text: str) -> dict[str, str]:
    """The properties in a text; the last value of a repeated key wins."""
    properties: dict[str, str] = {}
    for line_number, line in _logical_lines(text):
        end = _key_end(line)
        key = _unescape(line[:end], line_number)
        rest = line[end:].lstrip(_WHITE_SPACE)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_WHITE_SPACE)
        properties[key] = _unescape(rest, line_number)
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of each line, continuations joined, comments and blank lines left out."""
    pending: str | None = None
    first_number = 0
    for number, natural in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1):
        stripped = natural.lstrip(_WHITE_SPACE)
        if not pending:
            if not stripped or stripped[0] in "#!":
                pending = None
                continue
            first_number = number
        trailing_backslashes = len(stripped) - len(stripped.rstrip("\\"))
        line = (pending or "") + stripped
        if trailing_backslashes % 2:
            pending = line[:-1]
            continue
        pending = None
        yield first_number, line
    if pending is not None:
        yield first_number, pending


def _key_end(line: str) -> int:
    position = 0
    while position < len(line):
        character = line[position]
        if character == "\\":
            position += 2
            continue
        if character in "=: \t\f":
            return position
        position += 1
    return len(line)


def _unescape(text: str, line_number: int) -> str:
    if "\\" not in text:
        return text
    pieces: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character != "\\":
            pieces.append(character)
            continue
        escaped = text[position : position + 1]
        position += 1
        if escaped == "u":
            digits = text[position : position + 4]
            position += 4
            pieces.append(_unicode_escape(digits, line_number))
        else:
            pieces.append(_ESCAPES.get(escaped, escaped))
    # Two escapes may be the halves of one character beyond the basic plane.
    return "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unicode_escape(digits: str, line_number: int) -> str:
    try:
        if len(digits) != 4 or not digits.isalnum():
            raise ValueError
        return chr(int(digits, 16))
    except ValueError:
        raise ConfigError(f"line {line_number}: \\u{digits} needs four hexadecimal digits after \\u.") from None
