"""Bytes of stdin and of files, as they come, without keeping the event loop from sending what came before."""

import asyncio
import contextlib
import errno
import io
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractContextManager
from typing import Final, TextIO

_CHUNK_BYTES: Final = 262_144
CHUNKS_AHEAD: Final = 4


async def stdin_chunks() -> AsyncGenerator[bytes]:
    """What stdin brings; a terminal's lines come one by one."""
    async with contextlib.aclosing(_chunks(_stdin_reader)) as chunks:
        async for chunk in chunks:
            yield chunk


async def file_chunks(path: str) -> AsyncGenerator[bytes]:
    """What a file holds; `-` is stdin."""
    source = _stdin_reader if path == "-" else lambda: _file_reader(path)
    async with contextlib.aclosing(_chunks(source)) as chunks:
        async for chunk in chunks:
            yield chunk


_Read = Callable[[], bytes]


@contextlib.contextmanager
def _stdin_reader() -> Iterator[_Read]:
    # stdin is None if the shell closed it, although Python's own types do not say so.
    stdin: TextIO | None = sys.stdin
    if stdin is None:
        raise OSError(errno.EBADF, "it is closed")
    try:
        descriptor = stdin.fileno()
    except io.UnsupportedOperation:
        # Stdin was replaced, by a program that calls the command line.
        yield lambda: stdin.buffer.read(_CHUNK_BYTES)
        return
    yield lambda: os.read(descriptor, _CHUNK_BYTES)


@contextlib.contextmanager
def _file_reader(path: str) -> Iterator[_Read]:
    descriptor = os.open(path, os.O_RDONLY)

    def read() -> bytes:
        try:
            return os.read(descriptor, _CHUNK_BYTES)
        except OSError as error:
            error.filename = path
            raise

    try:
        yield read
    finally:
        os.close(descriptor)


async def _chunks(source: Callable[[], AbstractContextManager[_Read]]) -> AsyncGenerator[bytes]:
    """In a daemon thread: nothing can end a read of a terminal or a pipe, and neither loop nor process waits for it.

    The source is opened, read and closed by that thread alone: a reader who has seen enough cannot close it under a
    read, after which its number could mean another file.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | Exception] = asyncio.Queue()
    room = threading.Semaphore(CHUNKS_AHEAD)
    is_over = threading.Event()

    def put(chunk: bytes | Exception) -> None:
        # The loop may be gone when a read returns.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(queue.put_nowait, chunk)

    def work() -> None:
        try:
            with source() as read:
                chunk = b"-"
                while chunk:
                    room.acquire()
                    if is_over.is_set():
                        return
                    chunk = read()
                    put(chunk)
        except Exception as error:  # noqa: BLE001 - the reader of the input gets it
            put(error)

    threading.Thread(target=work, name="input", daemon=True).start()
    try:
        while chunk := await queue.get():
            if isinstance(chunk, Exception):
                raise chunk
            room.release()
            yield chunk
    finally:
        is_over.set()
        room.release()
