"""Finds the name that was probably meant when a name does not exist."""

from collections.abc import Iterable

# Names of settings are long and share words: below this, two names are different settings.
_SIMILARITY_MIN = 0.82


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar to this one; None if none is similar enough."""
    # Imported here, so that only a misspelt name pays for it.
    import difflib

    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=_SIMILARITY_MIN)), None)
