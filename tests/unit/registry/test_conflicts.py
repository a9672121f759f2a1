from ottla.registry.conflicts import describe_conflicts
from ottla.schemas.compatibility import Conflict
from ottla.schemas.finding import Finding


def test_sides_that_are_long_are_shortened_and_those_that_are_missing_are_nothing() -> None:
    finding = Finding("TYPE_CHANGED", "", "string -> integer", reader="x" * 1000)
    (message,) = describe_conflicts([Conflict(3, finding, is_backward=True)], new_version=5)
    assert message.startswith(
        "{errorType:'TYPE_CHANGED', description:'at / the new version 5 cannot read what version 3"
    )
    assert f"the reader has {'x' * 200}..., the writer has nothing'" in message
    assert message.endswith("additionalInfo:'string -> integer'}, {oldSchemaVersion: 3}")


def test_a_finding_without_sides_has_none_in_its_message() -> None:
    (message,) = describe_conflicts([Conflict(1, Finding("MESSAGE_REMOVED", "#/P", "P"), is_backward=False)], 2)
    assert "at #/P version 1 cannot read what the new version 2 writes: P', additionalInfo" in message
