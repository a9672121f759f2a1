from pathlib import Path

import pytest

from ottla.config.properties_file import load_properties, parse_properties
from ottla.config.values import ConfigError


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("a=1", {"a": "1"}),
        ("a = 1", {"a": "1"}),
        ("a: 1", {"a": "1"}),
        ("a 1", {"a": "1"}),
        ("a\t=\t1 ", {"a": "1 "}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("a=b=c:d e", {"a": "b=c:d e"}),
        ("listeners=PLAINTEXT://:9092", {"listeners": "PLAINTEXT://:9092"}),
        ("# c\n! c\n\n  \n a=1 # no comment", {"a": "1 # no comment"}),
        ("a=1\r\nb=2\rc=3\n", {"a": "1", "b": "2", "c": "3"}),
        ("a=1,\\\n   2,\\\n   3", {"a": "1,2,3"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=x\\\n# y", {"a": "x# y"}),
        ("a=1\\", {"a": "1"}),
        ("a\\=b\\ c=1", {"a=b c": "1"}),
        ("a=\\t\\n\\r\\f\\q\\\\", {"a": "\t\n\r\fq\\"}),
        ("a=\\u00e9\\u20AC", {"a": "é€"}),
        ("a=\\ud83d\\ude00", {"a": "😀"}),
        ("a=1\na=2", {"a": "2"}),
        ("=1", {"": "1"}),
        ("", {}),
    ],
)
def test_text_is_read_as_java_reads_it(text: str, properties: dict[str, str]) -> None:
    assert parse_properties(text) == properties


@pytest.mark.parametrize("escape", ["\\u12", "\\u12x4", "\\u+123"])
def test_a_broken_escape_names_its_line(escape: str) -> None:
    with pytest.raises(ConfigError, match=r"line 2: .*four hexadecimal digits"):
        parse_properties(f"a=1\nb={escape}")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_file_may_be_utf_8_or_latin_1(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes("broker.rack=zürich".encode(encoding))
    assert load_properties(file) == {"broker.rack": "zürich"}


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Cannot read .*nope\.properties: No such file"):
        load_properties(tmp_path / "nope.properties")


def test_a_directory_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a directory"):
        load_properties(tmp_path)


def test_a_mistake_in_a_file_is_told_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("a=\\u1")
    with pytest.raises(ConfigError, match=r"server\.properties: line 1"):
        load_properties(file)
