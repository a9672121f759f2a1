from ottla.schemas.json_schema.checks import State
from ottla.schemas.json_schema.compiler import Compiler
from ottla.schemas.json_schema.documents import Document


def test_each_subschema_is_compiled_once() -> None:
    schema = {"properties": {"a": {"$ref": "#/definitions/x"}, "b": {"$ref": "#/definitions/x"}, "c": {"$ref": "#"}}}
    document = Document({**schema, "definitions": {"x": {"type": "string"}}}, {})
    compiler = Compiler()
    root = compiler.compile(document.root)
    assert compiler.check_of(document.root) is root
    assert compiler.check_of(document.root.follow("#/definitions/x")) is compiler.check_of(
        document.root.follow("#/definitions/x")
    )
    assert root({"a": "x", "c": {"b": "y"}}, State(0, is_reading=False)) is None
    assert str(root({"c": {"b": 1}}, State(0, is_reading=False))).startswith("#/c/b: 1 is not string")


def test_schemas_nest_deeper_than_the_stack() -> None:
    tree: dict[str, object] = {}
    for _ in range(5000):
        tree = {"not": tree}
    check = Compiler().compile(Document(tree, {}).root)
    assert len(check.parts) == 1
