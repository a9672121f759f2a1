import pytest

from ottla.schemas.avro.names import Name, is_valid, is_valid_full, name_of


@pytest.mark.parametrize("name", ["a", "_", "A1", "ä", "日", "a\u0661"])
def test_letters_of_all_languages_make_names(name: str) -> None:
    assert is_valid(name)


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a.b", "a b", "\U0001f600", "\U00010400", "$"])
def test_other_characters_do_not(name: str) -> None:
    assert not is_valid(name)


def test_dots_in_a_name_bring_its_namespace() -> None:
    assert name_of("a.b.C", "x") == Name("C", "a.b")
    assert name_of("C", "x") == Name("C", "x")
    assert name_of(".C", "x") == Name("C", "")
    assert not is_valid_full(name_of("a..C", ""))


def test_a_namespace_is_left_out_where_it_is_the_one_around() -> None:
    assert Name("C", "a").seen_from("a") == "C"
    assert Name("C", "a").seen_from("b") == "a.C"
    assert Name("int", "a").seen_from("a") == "a.int"
