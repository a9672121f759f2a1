"""Bytes of stdin and of files, as they come, without keeping the event loop from sending what came before."""

import asyncio
import contextlib
import io
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Final

_CHUNK_BYTES: Final = 262_144
_CHUNKS_AHEAD: Final = 4


async def stdin_chunks() -> AsyncGenerator[bytes]:
    """What stdin brings; a terminal's lines come one by one."""
    async with contextlib.aclosing(_chunks(_stdin_reader())) as chunks:
        async for chunk in chunks:
            yield chunk


async def file_chunks(path: str) -> AsyncGenerator[bytes]:
    """What a file holds; `-` is stdin."""
    if path == "-":
        async with contextlib.aclosing(stdin_chunks()) as chunks:
            async for chunk in chunks:
                yield chunk
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        async with contextlib.aclosing(_chunks(lambda: os.read(descriptor, _CHUNK_BYTES))) as chunks:
            async for chunk in chunks:
                yield chunk
    finally:
        os.close(descriptor)


def _stdin_reader() -> Callable[[], bytes]:
    try:
        descriptor = sys.stdin.fileno()
    except io.UnsupportedOperation:
        # Stdin was replaced, by a program that calls the command line.
        return lambda: sys.stdin.buffer.read(_CHUNK_BYTES)
    return lambda: os.read(descriptor, _CHUNK_BYTES)


async def _chunks(read: Callable[[], bytes]) -> AsyncGenerator[bytes]:
    """In a daemon thread: nothing can end a read of a terminal or a pipe, and neither loop nor process waits for it."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | OSError] = asyncio.Queue()
    room = threading.Semaphore(_CHUNKS_AHEAD)
    is_over = threading.Event()

    def work() -> None:
        chunk: bytes | OSError = b"-"
        while chunk and isinstance(chunk, bytes):
            room.acquire()
            try:
                chunk = read()
            except OSError as error:
                chunk = error
            # The loop may be gone when a read returns.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(queue.put_nowait, chunk)
            if is_over.is_set():
                return

    threading.Thread(target=work, name="input", daemon=True).start()
    try:
        while chunk := await queue.get():
            if isinstance(chunk, OSError):
                raise chunk
            room.release()
            yield chunk
    finally:
        is_over.set()
        room.release()
