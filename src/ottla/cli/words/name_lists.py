"""Lists of names with commas between them, out of those that there are."""

from collections.abc import Sequence

from ottla.cli.exits import UsageError


def chosen_names(option: str, text: str | None, names: Sequence[str]) -> list[str]:
    """The names that a list says, in any case; none if it was not given."""
    if text is None:
        return []
    known = {name.casefold(): name for name in names}
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word.casefold() not in known:
            raise UsageError(f"{option} {text}: {word!r} is none of them.", f"Write {', '.join(names)}.")
    return [known[word.casefold()] for word in words]
