import pytest

from ottla.registry.records import (
    ClearSubjectKey,
    ConfigKey,
    ContextKey,
    DamagedRecord,
    DeleteSubjectKey,
    Key,
    ModeKey,
    NoopKey,
    SchemaKey,
    decode_record,
    encode_key,
)

KEYS: dict[bytes, Key] = {
    b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}': SchemaKey("s", 1),
    b'{"keytype":"CONFIG","subject":null,"magic":0}': ConfigKey(None),
    b'{"keytype":"CONFIG","subject":"s","magic":0}': ConfigKey("s"),
    b'{"keytype":"MODE","subject":"s","magic":0}': ModeKey("s"),
    b'{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}': DeleteSubjectKey("s"),
    b'{"keytype":"CLEAR_SUBJECT","subject":"s","magic":0}': ClearSubjectKey("s"),
    b'{"keytype":"CONTEXT","tenant":"default","context":".c","magic":0}': ContextKey(".c"),
    b'{"keytype":"NOOP","magic":0}': NoopKey(),
    '{"keytype":"SCHEMA","subject":"übung","version":12,"magic":1}'.encode(): SchemaKey("übung", 12),
}


@pytest.mark.parametrize("data", KEYS, ids=bytes.decode)
def test_keys_are_the_same_byte_for_byte(data: bytes) -> None:
    assert encode_key(KEYS[data]) == data
    assert decode_record(data, None).key == KEYS[data]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"", None),
        (b"[]", None),
        (b"nonsense", None),
        (b'{"keytype":"OTHER","magic":0}', None),
        (b'{"keytype":"SCHEMA","subject":"s","version":"1","magic":1}', None),
        (b'{"keytype":"SCHEMA","subject":null,"version":1,"magic":1}', None),
        (b'{"keytype":"NOOP","magic":0}', b"\xff"),
        (b'{"keytype":"NOOP","magic":0}', b"[" * 100_000),
    ],
)
def test_what_is_no_record_of_a_registry_is_told(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(DamagedRecord):
        decode_record(key, value)
