from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ottla.protocol.compression import Buffer
from ottla.storage.errors import StorageError
from ottla.storage.file_system import OsFileSystem
from ottla.storage.leader_epochs import LeaderEpochs


@pytest.fixture
def epochs(tmp_path: Path) -> LeaderEpochs:
    epochs = LeaderEpochs(OsFileSystem(tmp_path), tmp_path / "leader-epoch-checkpoint")
    for epoch, start in ((1, 0), (3, 10), (4, 25)):
        epochs.assign(epoch, start)
    return epochs


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(0, (0, 0)), (1, (1, 10)), (2, (1, 10)), (3, (3, 25)), (4, (4, 99)), (5, None), (-1, None)],
)
def test_the_end_of_an_epoch_is_the_start_of_the_next(epochs: LeaderEpochs, asked: int, answer) -> None:
    assert epochs.end_offset_for(asked, 99) == answer


def test_without_a_history_nothing_is_known(tmp_path: Path) -> None:
    epochs = LeaderEpochs(OsFileSystem(tmp_path), tmp_path / "e")
    assert epochs.end_offset_for(0, 5) is None
    assert (epochs.latest, epochs.epoch_of(3)) == (-1, -1)


def test_older_and_equal_epochs_change_nothing(epochs: LeaderEpochs) -> None:
    before = epochs.entries
    epochs.assign(4, 50)
    epochs.assign(2, 50)
    assert epochs.entries == before


@pytest.mark.parametrize(
    ("epoch", "entries"), [(3, [(1, 0), (3, 10)]), (2, [(1, 0), (2, 99)]), (4, [(1, 0), (3, 10), (4, 25)])]
)
def test_a_leader_that_takes_office_knows_that_later_epochs_are_damage(epochs: LeaderEpochs, epoch, entries) -> None:
    epochs.begin(epoch, 99)
    assert epochs.entries == entries


def test_an_epoch_without_a_record_gives_way_to_the_next(epochs: LeaderEpochs) -> None:
    epochs.assign(5, 30)
    epochs.assign(6, 30)
    assert epochs.entries[-2:] == [(4, 25), (6, 30)]


@pytest.mark.parametrize(("offset", "epoch"), [(0, 1), (9, 1), (10, 3), (24, 3), (1000, 4)])
def test_the_epoch_of_an_offset_is_known(epochs: LeaderEpochs, offset: int, epoch: int) -> None:
    assert epochs.epoch_of(offset) == epoch


@pytest.mark.parametrize(("end", "left"), [(26, 3), (25, 2), (11, 2), (10, 1), (0, 0)])
def test_truncation_at_the_end_forgets_epochs_that_begin_there(epochs: LeaderEpochs, end: int, left: int) -> None:
    epochs.truncate_from_end(end)
    assert len(epochs.entries) == left
    assert epochs.latest == (epochs.entries[-1].epoch if left else -1)


@pytest.mark.parametrize(
    ("start", "entries"),
    [
        (0, [(1, 0), (3, 10), (4, 25)]),
        (5, [(1, 5), (3, 10), (4, 25)]),
        (10, [(3, 10), (4, 25)]),
        (24, [(3, 24), (4, 25)]),
        (90, [(4, 90)]),
    ],
)
def test_truncation_at_the_start_moves_the_epoch_that_holds_it(epochs: LeaderEpochs, start: int, entries) -> None:
    epochs.truncate_from_start(start)
    assert epochs.entries == entries


def test_the_file_has_kafkas_lines_and_comes_back(epochs: LeaderEpochs, tmp_path: Path) -> None:
    epochs.write()
    path = tmp_path / "leader-epoch-checkpoint"
    assert path.read_text() == "0\n3\n1 0\n3 10\n4 25\n"
    loaded = LeaderEpochs(OsFileSystem(tmp_path), path)
    assert loaded.load()
    assert loaded.entries == epochs.entries
    assert loaded.latest == 4


@pytest.mark.parametrize("text", ["1\n0\n", "0\n2\n1 0\n", "0\n1\nx y\n", "hello", "0\n1\n1 2 3\n"])
def test_a_damaged_file_is_noticed(tmp_path: Path, text: str) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    path.write_text(text)
    assert not LeaderEpochs(OsFileSystem(tmp_path), path).load()


class StumblingFileSystem(OsFileSystem):
    """A disk on which something happens during each write."""

    def __init__(self, root: Path, during_write: Callable[[], None]) -> None:
        super().__init__(root)
        self.during_write = during_write

    def write_file(self, path: Path, data: Buffer, *, sync: bool) -> None:
        self.during_write()
        super().write_file(path, data, sync=sync)


def test_an_epoch_whose_write_failed_is_written_by_the_next_flush(tmp_path: Path) -> None:
    def fail() -> None:
        raise StorageError(tmp_path, "write", tmp_path, "Input/output error")

    disk = StumblingFileSystem(tmp_path, fail)
    epochs = LeaderEpochs(disk, tmp_path / "e")
    epochs.assign(4, 25)
    with pytest.raises(StorageError):
        epochs.write()
    disk.during_write = lambda: None
    epochs.write()
    assert (tmp_path / "e").read_text() == "0\n1\n4 25\n"


def test_an_epoch_that_begins_during_a_write_is_in_the_next(tmp_path: Path) -> None:
    disk = StumblingFileSystem(tmp_path, lambda: epochs.assign(5, 30))
    epochs = LeaderEpochs(disk, tmp_path / "e")
    epochs.assign(4, 25)
    epochs.write()
    epochs.write()
    assert (tmp_path / "e").read_text() == "0\n2\n4 25\n5 30\n"


def test_two_flushes_at_a_time_do_not_take_each_others_file(tmp_path: Path) -> None:
    epochs = LeaderEpochs(OsFileSystem(tmp_path), tmp_path / "e")

    def write_often(first: int) -> None:
        for epoch in range(first, 400, 2):
            epochs.assign(epoch, epoch)
            epochs.write()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write_often, range(2)))
    assert (tmp_path / "e").read_text().endswith("399 399\n")


def test_what_is_in_the_file_is_not_written_again(tmp_path: Path) -> None:
    writes: list[int] = []
    epochs = LeaderEpochs(StumblingFileSystem(tmp_path, lambda: writes.append(1)), tmp_path / "e")
    epochs.write()
    assert writes == []
    epochs.assign(4, 25)
    epochs.write()
    epochs.write()
    assert writes == [1]
