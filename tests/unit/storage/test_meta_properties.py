from pathlib import Path

import pytest

from ottla.protocol.uuids import uuid_from_text
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import OsFileSystem
from ottla.storage.meta_properties import MetaProperties, read_meta_properties, write_meta_properties

KAFKAS = """#
#Sun Nov 15 10:45:25 UTC 2026
node.id=1
directory.id=FTwHvgEet5t1ZNvBcCa1SA
version=1
cluster.id=kT9yE0RQTJmDpC1jT6PFxw
"""


def test_a_directory_formatted_by_kafka_is_understood(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(KAFKAS)
    assert read_meta_properties(OsFileSystem(tmp_path), tmp_path) == MetaProperties(
        "kT9yE0RQTJmDpC1jT6PFxw", 1, uuid_from_text("FTwHvgEet5t1ZNvBcCa1SA")
    )


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    properties = MetaProperties("cluster", 7, bytes(range(16)))
    write_meta_properties(OsFileSystem(tmp_path), tmp_path, properties)
    assert read_meta_properties(OsFileSystem(tmp_path), tmp_path) == properties


def test_a_fresh_directory_has_no_identity(tmp_path: Path) -> None:
    assert read_meta_properties(OsFileSystem(tmp_path), tmp_path) is None


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("version=1", "version=0", "version 0"),
        ("version=1", "", "version None"),
        ("node.id=1", "", "node.id"),
        ("node.id=1", "node.id=one", "one"),
        ("cluster.id", "claster.id", "cluster.id"),
        ("FTwHvgEet5t1ZNvBcCa1SA", "?", "meta.properties"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    (tmp_path / "meta.properties").write_text(KAFKAS.replace(old, new))
    with pytest.raises(DamagedFile, match=complaint):
        read_meta_properties(OsFileSystem(tmp_path), tmp_path)
