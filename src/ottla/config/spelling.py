"""What somebody may have meant who wrote a name that does not exist."""

from collections.abc import Iterable

# Names of settings are long and made of few words: less similar ones are other settings.
_SIMILARITY_MIN = 0.82


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one; None if none is."""
    # Only who slipped pays for it.
    import difflib

    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=_SIMILARITY_MIN)), None)
