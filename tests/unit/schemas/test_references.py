import pytest

from ottla.schemas.errors import InvalidReference
from ottla.schemas.references import COUNT_MAX, DEPTH_MAX, resolve
from ottla.schemas.schema import Reference, Schema, SchemaType


def referring(text: str, *names: str) -> Schema:
    return Schema(text, references=tuple(Reference(name, f"subject of {name}", 1) for name in names))


def test_each_text_comes_after_those_that_it_needs() -> None:
    known = {"a": referring("A", "b", "c"), "b": referring("B", "c"), "c": referring("C")}
    texts = resolve(referring("top", "a", "b"), lambda reference: known[reference.name])
    assert list(texts.items()) == [("c", "C"), ("b", "B"), ("a", "A")]


def test_a_circle_is_named() -> None:
    known = {"a": referring("A", "b"), "b": referring("B", "a")}
    with pytest.raises(InvalidReference, match="a -> b -> a"):
        resolve(referring("top", "a"), lambda reference: known[reference.name])


def test_what_does_not_exist_is_named() -> None:
    with pytest.raises(InvalidReference, match="version 1 of subject subject of a, which does not exist"):
        resolve(referring("top", "a"), lambda _: None)


def test_a_name_has_one_version() -> None:
    top = Schema("top", references=(Reference("a", "s", 1), Reference("a", "s", 2)))
    with pytest.raises(InvalidReference, match="version 1 of subject s in one place and version 2"):
        resolve(top, lambda _: Schema("A"))


def test_a_schema_refers_to_its_own_type_alone() -> None:
    with pytest.raises(InvalidReference, match="which is JSON, not AVRO"):
        resolve(referring("top", "a"), lambda _: Schema("{}", SchemaType.JSON))


def test_chains_and_crowds_have_bounds() -> None:
    def next_one(reference: Reference) -> Schema:
        return referring("deep", f"{int(reference.name) + 1}")

    with pytest.raises(InvalidReference, match=f"deeper than {DEPTH_MAX}"):
        resolve(referring("top", "0"), next_one)
    with pytest.raises(InvalidReference, match=f"more than {COUNT_MAX}"):
        resolve(referring("top", *map(str, range(COUNT_MAX + 1))), lambda _: Schema("leaf"))


def test_a_graph_with_many_paths_is_walked_once() -> None:
    """Each of sixty schemas needs the two before it: there are more paths than atoms."""
    visits: list[str] = []

    def find(reference: Reference) -> Schema:
        visits.append(reference.name)
        number = int(reference.name)
        return referring("node", *(str(one) for one in (number - 1, number - 2) if one >= 0))

    resolve(referring("top", "60"), find)
    assert len(visits) == 61
