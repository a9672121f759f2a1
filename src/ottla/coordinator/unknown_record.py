"""What a coordinator finds in its log and cannot take for a record of its own."""


class UnknownRecord(ValueError):
    """A record of a kind, or of a version, that we do not know."""
