from ottla.schemas.format import ParsedSchema, SchemaFormat, format_of
from ottla.schemas.schema import SchemaType
from unit.schemas.avro.schemas import field, parse, record

REFERENCE = '{"type":"record","name":"In","namespace":"a","fields":[]}'


def test_it_is_the_format_for_avro() -> None:
    avro: SchemaFormat = format_of(SchemaType.AVRO)
    schema: ParsedSchema = avro.parse(' "string" ', {})
    assert schema.canonical == '"string"'


def test_records_have_a_name_and_others_have_none() -> None:
    assert parse(record(name="a.R")).name == "a.R"
    assert parse('"a.In"', {"a.In": REFERENCE}).name == "a.In"
    assert parse('["null"]').name is None
    assert parse({"type": "enum", "name": "E", "symbols": []}).name is None


def test_the_resolved_form_has_the_references_in_it() -> None:
    schema = parse(record(field("in", "a.In")), {"a.In": REFERENCE})
    assert schema.canonical == '{"type":"record","name":"R","fields":[{"name":"in","type":"a.In"}]}'
    assert schema.formatted("RESOLVED") == (
        f'{{"type":"record","name":"R","fields":[{{"name":"in","type":{REFERENCE}}}]}}'
    )
    assert schema.formatted("") == schema.formatted("default") == schema.formatted("other") == schema.canonical


def test_schemas_of_one_text_are_equal() -> None:
    assert parse('"int"') == parse(' {"type": "int"}')
    assert hash(parse('"int"')) == hash(parse('"int"'))
