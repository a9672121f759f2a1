"""However the stream is cut into reads, the frames that come out are the ones that went in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.protocol.frame import BUFFER_BYTES, FrameReader, OversizedFrame


def feed(reader: FrameReader, data: bytes, step: int) -> list[bytes]:
    frames = []
    position = 0
    while position < len(data):
        target = reader.writable()
        count = min(len(target), step, len(data) - position)
        assert count > 0
        target[:count] = data[position : position + count]
        target.release()
        reader.received(count)
        position += count
        while (frame := reader.next_frame()) is not None:
            frames.append(bytes(frame))
    return frames


def framed(payloads: list[bytes]) -> bytes:
    return b"".join(len(payload).to_bytes(4) + payload for payload in payloads)


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.sampled_from((0, 1, BUFFER_BYTES - 5, BUFFER_BYTES - 4, BUFFER_BYTES - 3, BUFFER_BYTES, 3_000_000)).map(
                bytes
            ),
        ),
        max_size=8,
    ),
    st.sampled_from((1_000, 4_097, BUFFER_BYTES, 10_000_000)),
)
def test_frames_survive_any_cut(payloads: list[bytes], step: int) -> None:
    reader = FrameReader(100_000_000)
    assert feed(reader, framed(payloads), step) == payloads
    assert reader.pending_bytes == 0


def test_frames_survive_single_bytes() -> None:
    payloads = [b"", b"a", b"bc" * 50]
    assert feed(FrameReader(1000), framed(payloads), 1) == payloads


@pytest.mark.parametrize("size", [-1, -(2**31), 1001, 2**31 - 1])
def test_a_length_outside_the_limit_is_refused(size: int) -> None:
    with pytest.raises(OversizedFrame, match=str(size)):
        feed(FrameReader(1000), size.to_bytes(4, signed=True), 4)


def test_a_length_alone_does_not_allocate_the_frame() -> None:
    reader = FrameReader(2**31 - 1)
    feed(reader, (2**31 - 1).to_bytes(4) + b"x", 5)
    assert len(reader.writable()) < 2_000_000


def test_a_frame_that_was_asked_for_arrives_in_one_buffer() -> None:
    reader = FrameReader(2**30, at_once_bytes=8_000_000)
    feed(reader, (8_000_000).to_bytes(4) + b"begin", 100)
    assert len(reader.writable()) == 8_000_000 - len(b"begin")
    [frame] = feed(reader, bytes(8_000_000 - len(b"begin")), 1_000_000)
    assert (len(frame), frame[:6]) == (8_000_000, b"begin\0")
    feed(reader, (8_000_001).to_bytes(4), 100)
    assert len(reader.writable()) == 8_000_000


@pytest.mark.parametrize(("beginning", "what"), [(b"\x16\x03\x01\x02\x00", "TLS"), (b"GET / HTTP/1.1", "HTTP")])
def test_what_speaks_another_protocol_is_named(beginning: bytes, what: str) -> None:
    with pytest.raises(OversizedFrame, match=what):
        feed(FrameReader(1000), beginning, len(beginning))


@pytest.mark.parametrize("size", [100, 10 * BUFFER_BYTES])
def test_the_beginning_of_a_frame_can_be_forgotten_and_whole_frames_stay(size: int) -> None:
    reader = FrameReader(1_000_000)
    data = framed([b"whole"]) + size.to_bytes(4) + b"half"
    reader.writable()[: len(data)] = data
    reader.received(len(data))
    reader.forget_arriving()
    assert reader.arriving_bytes == 0
    assert bytes(reader.next_frame() or b"") == b"whole"
    assert feed(reader, framed([b"next"]), 3) == [b"next"]


def test_frames_can_be_looked_at_before_they_are_taken() -> None:
    reader = FrameReader(1000)
    data = framed([b"one", b"three", b"four"])
    reader.writable()[: len(data)] = data
    reader.received(len(data))
    assert [bytes(frame) for frame in reader.peek(2)] == [b"one", b"three"]
    assert reader.pending_bytes == len(b"onethreefour")
    reader.drop(2)
    assert reader.pending_bytes == len(b"four")
    assert bytes(reader.next_frame() or b"") == b"four"
