"""What can be wrong with schemas and with data."""


class SchemaError(ValueError):
    """The base of all of them; the message says what is wrong and where."""


class InvalidSchema(SchemaError):
    """The text is not a schema of its type."""


class InvalidReference(SchemaError):
    """A reference leads nowhere, in a circle, or too far."""


class UnreadableData(SchemaError):
    """Bytes that are not what the schema says, or not framed as a registry's clients frame them."""


class UnwritableValue(SchemaError):
    """A value that does not fit the schema."""
