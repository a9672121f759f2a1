import pytest

from ottla.storage.partition_directories import (
    DELETE_SUFFIX,
    is_deleted_directory,
    marked_directory_name,
    parse_partition_directory,
    partition_directory_name,
)

HEX = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize("topic", ["t", "a-b", "a-1", "a.b_c", "x-delete"])
def test_a_partition_finds_its_directory_again(topic: str) -> None:
    assert parse_partition_directory(partition_directory_name(topic, 12)) == (topic, 12)


@pytest.mark.parametrize("name", ["meta.properties", "nothing", "-1", "t-", f"t-0.{HEX}-delete", f"t-0.{HEX}-future"])
def test_other_names_are_no_partitions(name: str) -> None:
    assert parse_partition_directory(name) is None


def test_a_deleted_directory_is_recognised() -> None:
    assert is_deleted_directory(marked_directory_name("t", 3, HEX, DELETE_SUFFIX))
    assert not is_deleted_directory("x-delete")


def test_a_long_topic_name_is_cut_to_what_a_file_system_takes() -> None:
    name = marked_directory_name("t" * 249, 3, HEX, DELETE_SUFFIX)
    assert len(name) == 255
    assert is_deleted_directory(name)
