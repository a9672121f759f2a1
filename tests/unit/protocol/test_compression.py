import gzip
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor

import cramjam
import lz4.frame
import pytest
import zstandard

from ottla.protocol.compression import Codec, CompressionError, OutputTooLarge, compress, decompress

TEXT = b"the same words again and again, " * 5000
REAL_CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("data", [b"", b"x", TEXT, bytes(range(256)) * 700])
def test_what_is_compressed_comes_back(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data), len(data)) == data


@pytest.mark.parametrize("codec", list(Codec))
def test_output_beyond_the_bound_is_refused(codec: Codec) -> None:
    with pytest.raises(OutputTooLarge, match=str(len(TEXT) - 1)):
        decompress(codec, compress(codec, TEXT), len(TEXT) - 1)


@pytest.mark.parametrize("codec", REAL_CODECS)
def test_data_cut_short_is_refused(codec: Codec) -> None:
    compressed = compress(codec, TEXT)
    with pytest.raises(CompressionError):
        decompress(codec, compressed[: len(compressed) // 2], len(TEXT))


@pytest.mark.parametrize("codec", REAL_CODECS)
def test_garbage_is_refused(codec: Codec) -> None:
    with pytest.raises(CompressionError):
        decompress(codec, b"\xff" * 100, 1000)


@pytest.mark.parametrize("codec", REAL_CODECS)
def test_a_memoryview_is_taken_as_it_is(codec: Codec) -> None:
    assert decompress(codec, memoryview(compress(codec, memoryview(TEXT))), len(TEXT)) == TEXT


def test_a_bomb_costs_no_more_than_its_bound() -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(200)) + bomb.flush()
    with pytest.raises(OutputTooLarge):
        decompress(Codec.GZIP, data, 1000)


def test_raw_snappy_without_framing_is_read() -> None:
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT)), len(TEXT)) == TEXT


def test_concatenated_snappy_streams_are_read() -> None:
    data = compress(Codec.SNAPPY, b"one") + compress(Codec.SNAPPY, b"two")
    assert decompress(Codec.SNAPPY, data, 6) == b"onetwo"


def test_a_snappy_block_that_claims_gigabytes_is_refused_before_anything_is_allocated() -> None:
    claim = b"\xff\xff\xff\xff\x0f" + b"abc"
    framed = b"\x82SNAPPY\x00" + struct.pack(">iii", 1, 1, len(claim)) + claim
    with pytest.raises(CompressionError):
        decompress(Codec.SNAPPY, framed, 1 << 20)


@pytest.mark.parametrize("size", [-1, 0, 1000])
def test_a_snappy_block_size_that_does_not_fit_is_refused(size: int) -> None:
    framed = b"\x82SNAPPY\x00" + struct.pack(">iii", 1, 1, size) + b"abc"
    with pytest.raises(CompressionError, match="block"):
        decompress(Codec.SNAPPY, framed, 1 << 20)


def test_gzip_members_in_a_row_are_read() -> None:
    assert decompress(Codec.GZIP, gzip.compress(b"one") + gzip.compress(b"two"), 6) == b"onetwo"


def test_gzip_members_have_a_bound() -> None:
    assert decompress(Codec.GZIP, gzip.compress(b"x") * 1000, 1000) == b"x" * 1000
    with pytest.raises(CompressionError, match="more than 1000 members"):
        decompress(Codec.GZIP, gzip.compress(b"x") * 1001, 2000)


def test_lz4_frames_of_other_writers_are_read() -> None:
    frame = lz4.frame.compress(TEXT, block_linked=True, content_checksum=True, store_size=True)
    assert decompress(Codec.LZ4, frame, len(TEXT)) == TEXT


def test_lz4_data_that_grows_a_thousandfold_is_read_up_to_the_bound() -> None:
    frame = compress(Codec.LZ4, bytes(10_000_000))
    assert len(frame) < 100_000
    assert decompress(Codec.LZ4, frame, 10_000_000) == bytes(10_000_000)
    with pytest.raises(CompressionError, match="more than 9999999 bytes"):
        decompress(Codec.LZ4, frame, 9_999_999)


def test_the_default_level_of_lz4_is_the_fast_compressor_as_in_kafka() -> None:
    squares = b" ".join(b"%d" % (number * number) for number in range(5000))
    fast = compress(Codec.LZ4, squares, 0)
    assert compress(Codec.LZ4, squares) == compress(Codec.LZ4, squares, 9) == fast
    assert len(compress(Codec.LZ4, squares, 10)) < len(fast)


def test_zstd_frames_without_a_content_size_are_read() -> None:
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(TEXT)
    assert decompress(Codec.ZSTD, frame, len(TEXT)) == TEXT


def test_damaged_zstd_data_leaves_nothing_behind_for_the_next() -> None:
    frame = compress(Codec.ZSTD, TEXT)
    for _ in range(3):
        for damaged in (frame[:-5], frame[: len(frame) // 2], b"no zstd at all", frame[:20] + b"\xff" * 20):
            with pytest.raises(CompressionError):
                decompress(Codec.ZSTD, damaged, len(TEXT))
        with pytest.raises(CompressionError, match="more than"):
            decompress(Codec.ZSTD, frame, len(TEXT) - 1)
        assert decompress(Codec.ZSTD, frame, len(TEXT)) == TEXT


def test_zstd_is_opened_by_several_threads_at_once() -> None:
    texts = [b"%d " % number * 50_000 for number in range(8)]
    frames = [compress(Codec.ZSTD, text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda frame: decompress(Codec.ZSTD, frame, 1 << 20), frames * 10)
        assert list(found) == texts * 10


def test_a_level_changes_the_output() -> None:
    assert len(compress(Codec.GZIP, TEXT, 9)) <= len(compress(Codec.GZIP, TEXT, 1))
    assert compress(Codec.ZSTD, TEXT, 1) != compress(Codec.ZSTD, TEXT, 19)
