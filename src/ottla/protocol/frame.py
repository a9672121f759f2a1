"""Cuts a stream of bytes into frames: four bytes of length, then that many bytes.

Sans IO: `writable()` says where the next bytes go, `received(n)` says how many came, `next_frame()` takes whole frames
out. Small frames are copied out of one buffer that all connections share; only what is left of it, the beginning of a
frame, is put aside in a buffer of the connection. So ten thousand connections that are between two requests need none.
Sharing asks one thing of the caller: nobody else's bytes come between `writable()` and `received(n)`.

A frame that does not fit gets a buffer of its own, into which the kernel writes directly, so large batches are never
copied here. That buffer grows with the bytes that really arrive: a length alone makes nobody allocate (CVE-2022-34917).
Who has asked for a large frame says so with `at_once_bytes`, and gets a buffer that need not grow.
"""

import struct
from collections import deque
from collections.abc import Iterator
from itertools import islice

# Each connection that is in the middle of a frame has one: ten thousand of them must fit in memory.
BUFFER_BYTES = 16 * 1024
# A frame's own buffer starts with this much and grows fourfold: thousands of clients that announce a large frame and
# then send nothing must fit in memory, and a batch of a megabyte must not be copied often.
LARGE_FRAME_INITIAL_BYTES = 128 * 1024
# A frame up to this size always finds room in the buffer that its connection has anyway.
SHARED_FRAME_BYTES_MAX = BUFFER_BYTES - 4
_LENGTH = struct.Struct(">i")
_shared = bytearray(BUFFER_BYTES)
_shared_view = memoryview(_shared)


class OversizedFrame(ValueError):
    """A length that is negative or above the limit: the peer is hostile or does not speak this protocol."""


class FrameReader:
    """One connection's frames, none longer than `frame_bytes_max`."""

    def __init__(self, frame_bytes_max: int, at_once_bytes: int = LARGE_FRAME_INITIAL_BYTES) -> None:
        self.frame_bytes_max = frame_bytes_max
        self._at_once_bytes = at_once_bytes
        # The shared buffer, or the connection's own while that holds the beginning of a frame up to `_end`.
        self._buffer = _shared
        self._end = 0
        self._large: bytearray | None = None
        # The size of the frame that is arriving into a buffer of its own; 0 if none is.
        self.arriving_bytes = 0
        self._large_filled = 0
        self._frames: deque[bytearray] = deque()
        self.pending_bytes = 0  # of the whole frames that nobody took yet

    def writable(self) -> memoryview:
        """Where the next bytes of the stream belong; never empty."""
        if self._large is not None:
            if self._large_filled == len(self._large):
                growth = min(3 * len(self._large), self.arriving_bytes - len(self._large))
                self._large.extend(bytes(growth))
            return memoryview(self._large)[self._large_filled :]
        return memoryview(self._buffer)[self._end :] if self._end else _shared_view[:]

    def received(self, count: int) -> None:
        """Takes note of `count` bytes written into `writable()`."""
        if self._large is not None:
            self._large_filled += count
            if self._large_filled == self.arriving_bytes:
                self._add(self._large)
                self._large = None
                self.arriving_bytes = 0
            return
        self._end += count
        self._cut()

    def next_frame(self) -> bytearray | None:
        """The oldest whole frame, without its length."""
        if not self._frames:
            return None
        frame = self._frames.popleft()
        self.pending_bytes -= len(frame)
        return frame

    def peek(self, count: int) -> Iterator[bytearray]:
        """The oldest whole frames, which stay; `drop` takes them out."""
        return islice(self._frames, count)

    def drop(self, count: int) -> None:
        """Takes the oldest whole frames out."""
        for _ in range(count):
            self.pending_bytes -= len(self._frames.popleft())

    def put_back(self, frame: bytearray) -> None:
        """Makes a frame that was taken out the oldest again."""
        self._frames.appendleft(frame)
        self.pending_bytes += len(frame)

    def forget_arriving(self) -> None:
        """Lets go of a frame whose rest will not come; whole frames stay."""
        self._buffer = _shared
        self._end = 0
        self._large = None
        self.arriving_bytes = 0

    def _add(self, frame: bytearray) -> None:
        self._frames.append(frame)
        self.pending_bytes += len(frame)

    def _cut(self) -> None:
        buffer, end = self._buffer, self._end
        start = 0
        while end - start >= 4:
            size = _LENGTH.unpack_from(buffer, start)[0]
            if size < 0 or size > self.frame_bytes_max:
                raise OversizedFrame(_explained(bytes(buffer[start:end]), size, self.frame_bytes_max))
            body = start + 4
            if end - body < size:
                if size > SHARED_FRAME_BYTES_MAX:
                    self._start_large(size, memoryview(buffer)[body:end])
                    start = end
                break
            self._add(buffer[body : body + size])
            start = body + size
        self._keep(start, end)

    def _keep(self, start: int, end: int) -> None:
        """Puts the beginning of a frame aside, at the front of a buffer that nobody else uses."""
        if start == end:
            self._buffer = _shared
        elif self._buffer is _shared:
            own = bytearray(BUFFER_BYTES)
            own[: end - start] = memoryview(_shared)[start:end]
            self._buffer = own
        elif start > 0:
            self._buffer[: end - start] = self._buffer[start:end]
        self._end = end - start

    def _start_large(self, size: int, beginning: memoryview) -> None:
        self._large = bytearray(min(size, self._at_once_bytes))
        self.arriving_bytes = size
        self._large_filled = len(beginning)
        self._large[: len(beginning)] = beginning


def _explained(beginning: bytes, size: int, frame_bytes_max: int) -> str:
    """What the peer seems to speak instead."""
    if beginning.startswith(b"\x16\x03"):
        return "this is TLS, and the listener is plain text"
    if beginning.startswith((b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI")):
        return "this is HTTP, and the port speaks Kafka's protocol"
    return f"a frame of {size} bytes; the limit is {frame_bytes_max} (socket.request.max.bytes)"
