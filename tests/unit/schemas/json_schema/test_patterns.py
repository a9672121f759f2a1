import pytest

from ottla.schemas.errors import InvalidSchema
from ottla.schemas.json_schema.patterns import LENGTH_MAX, Unsupported, check_pattern, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("^a+$", "aaa", "ab"),
        (r"^\d{3}-\d{4}$", "555-1234", "555-12345"),
        (r"^\u0041$", "A", "B"),
        (r"^\u{1F600}$", "😀", "x"),
        (r"^\ud83d\ude00$", "😀", "x"),
        (r"^\cA$", "\x01", "A"),
        ("^[^]$", "\n", ""),
        (r"^\\u0041$", r"\u0041", "A"),
        (r"^\p{L}+$", "é", "1"),
        ("^.$", "é", "éé"),
        (r"^\/\-$", "/-", "x"),
        ("a$", "a", "a\n"),
    ],
)
def test_patterns_mean_what_they_mean_in_ecmascript(pattern: str, matching: str, other: str) -> None:
    check_pattern(pattern)
    assert compile_pattern(pattern).search(matching)
    assert not compile_pattern(pattern).search(other)


@pytest.mark.parametrize("pattern", ["(?=a)b", "(?!a)b", r"(a)\1", "(?<=a)b", "a{1,2000}"])
def test_what_re2_cannot_run_is_a_pattern_all_the_same(pattern: str) -> None:
    check_pattern(pattern)
    with pytest.raises(Unsupported, match="neither look-around nor back references"):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", ["(", "[a", "a**", r"\u{110000}", "(?=" * 101 + ")" * 101, "a" * (LENGTH_MAX + 1)])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidSchema):
        check_pattern(pattern)


def test_nothing_explodes() -> None:
    """It would take longer than the test may."""
    compile_pattern("^(a+)+$").search("a" * 100_000 + "b")
    check_pattern("((a{100}){100}){100}")
    check_pattern("(" * 100 + ")" * 100)
