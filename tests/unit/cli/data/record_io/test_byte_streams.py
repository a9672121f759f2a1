import asyncio
import os
import threading
from contextlib import aclosing
from pathlib import Path

import pytest

from ottla.cli.data.record_io import byte_streams


async def everything(path: Path) -> bytes:
    async with aclosing(byte_streams.file_chunks(str(path))) as chunks:
        return b"".join([chunk async for chunk in chunks])


def test_a_file_comes_whole(tmp_path: Path) -> None:
    path = tmp_path / "records"
    path.write_bytes(os.urandom(2_000_000))
    assert asyncio.run(everything(path)) == path.read_bytes()


def test_a_file_that_is_not_there_is_an_error_of_the_reader(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        asyncio.run(everything(tmp_path / "none"))
    assert caught.value.filename == str(tmp_path / "none")


def test_nothing_is_read_once_the_reader_has_seen_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "records"
    path.write_bytes(bytes(4_000_000))
    read_of: list[int] = []
    closed: list[int] = []
    is_ahead = threading.Event()
    read, close = os.read, os.close

    def watched_read(descriptor: int, count: int) -> bytes:
        read_of.append(descriptor)
        if len(read_of) == byte_streams.CHUNKS_AHEAD + 1:
            is_ahead.set()
        return read(descriptor, count)

    def watched_close(descriptor: int) -> None:
        closed.append(descriptor)
        close(descriptor)

    async def read_one() -> None:
        async with aclosing(byte_streams.file_chunks(str(path))) as chunks:
            await anext(chunks)
            await asyncio.to_thread(is_ahead.wait)

    monkeypatch.setattr(os, "read", watched_read)
    monkeypatch.setattr(os, "close", watched_close)
    asyncio.run(read_one())
    for thread in threading.enumerate():
        if thread.name == "input":
            thread.join()
    assert len(read_of) == byte_streams.CHUNKS_AHEAD + 1
    assert closed.count(read_of[0]) == 1


def test_a_directory_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError) as caught:
        asyncio.run(everything(tmp_path))
    assert caught.value.filename == str(tmp_path)


def test_a_closed_stdin_is_an_error_of_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(OSError, match="closed"):
        asyncio.run(everything(Path("-")))
