import pytest

from ottla.registry.errors import RegistryError
from ottla.registry.subjects import Subject, check_subject, parse_subject, qualify


@pytest.mark.parametrize(
    ("text", "subject", "stored"),
    [
        ("orders", Subject(".", "orders"), "orders"),
        (":.:orders", Subject(".", "orders"), "orders"),
        (":.sales:orders", Subject(".sales", "orders"), ":.sales:orders"),
        (":.sales:a:b", Subject(".sales", "a:b"), ":.sales:a:b"),
        (":orders", Subject(".", ":orders"), ":orders"),
    ],
)
def test_a_name_has_one_form(text: str, subject: Subject, stored: str) -> None:
    assert parse_subject(text) == subject
    assert check_subject(text) == stored


@pytest.mark.parametrize("text", ["", "a\0b", "a\nb", "__GLOBAL", ":.c:__EMPTY", ":.c:", ":.c", "x" * 5000])
def test_what_is_no_subject_is_refused(text: str) -> None:
    with pytest.raises(RegistryError) as refused:
        check_subject(text)
    assert refused.value.code == 42208


def test_settings_may_concern_a_whole_context() -> None:
    assert check_subject(":.c:", may_be_context=True) == ":.c:"
    assert check_subject(":.c", may_be_context=True) == ":.c:"
    assert check_subject(":.:", may_be_context=True) == ":.:"


def test_a_reference_means_the_context_of_its_schema() -> None:
    assert qualify("base", "a") == "base"
    assert qualify("base", ":.c:a") == ":.c:base"
    assert qualify(":.d:base", ":.c:a") == ":.d:base"
    assert qualify(":.:base", ":.c:a") == "base"
