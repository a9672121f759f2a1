"""Files that a tool is given instead of an option's value."""

from pathlib import Path

from ottla.cli.exits import CommandError


def read_text(path: str) -> str:
    """What a file says, in the words of Apache's tools if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"Unable to read file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"Unable to read file {path}: it is not UTF-8 text") from error
