from ottla.schemas.json_schema.difference import compare_limits, differ
from ottla.schemas.json_schema.documents import Document
from ottla.schemas.json_schema.kinds import Anything

KIND = Anything(Document({}, {}).root)


def rules(keyword: str, written: int | None, read: int | None) -> list[str]:
    return [difference.rule for difference in compare_limits(keyword, "LIMIT", written, read, KIND, KIND)]


def test_limits_become_tighter_in_their_own_direction() -> None:
    assert rules("maxLength", 5, 4) == rules("exclusiveMaximum", 5, 4) == ["LIMIT_DECREASED"]
    assert rules("minLength", 4, 5) == rules("exclusiveMinimum", 4, 5) == ["LIMIT_INCREASED"]
    assert rules("maximum", 4, 5) == rules("minimum", 5, 4) == rules("maximum", 5, 5) == []
    assert rules("maximum", None, 5) == ["LIMIT_ADDED"]
    assert rules("maximum", 5, None) == []


def test_paths_grow_from_the_inside() -> None:
    assert differ("RULE", "", None, KIND, "c").below("b").below("x", "a").path == ("x", "a", "b", "c")
