from pathlib import Path

import pytest

from ottla.protocol.uuids import uuid_from_text
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import OsFileSystem
from ottla.storage.partition_metadata import read_topic_id, write_topic_id

KAFKAS = "version: 0\ntopic_id: KJJipkx4QX6QANvVE5UjEQ"


def test_kafkas_file_is_understood(tmp_path: Path) -> None:
    (tmp_path / "partition.metadata").write_text(KAFKAS)
    assert read_topic_id(OsFileSystem(tmp_path), tmp_path) == uuid_from_text("KJJipkx4QX6QANvVE5UjEQ")


def test_the_id_comes_back(tmp_path: Path) -> None:
    assert read_topic_id(OsFileSystem(tmp_path), tmp_path) is None
    write_topic_id(OsFileSystem(tmp_path), tmp_path, uuid_from_text("KJJipkx4QX6QANvVE5UjEQ"))
    assert (tmp_path / "partition.metadata").read_text() == KAFKAS + "\n"
    assert read_topic_id(OsFileSystem(tmp_path), tmp_path) == uuid_from_text("KJJipkx4QX6QANvVE5UjEQ")


@pytest.mark.parametrize("text", ["", "version: 1\ntopic_id: x", "version: 0", "version: 0\ntopic_id: ?"])
def test_damage_is_noticed(tmp_path: Path, text: str) -> None:
    (tmp_path / "partition.metadata").write_text(text)
    with pytest.raises(DamagedFile):
        read_topic_id(OsFileSystem(tmp_path), tmp_path)
