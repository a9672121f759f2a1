"""The four codecs of the record format, each with a bound on what it may produce.

A few hundred bytes of gzip or zstd can describe gigabytes, and a snappy block announces its own size. So every call of
`decompress` names the most it is willing to receive, output is taken in pieces, and the work stops as soon as the bound
is passed: hostile input costs at most `max_output_bytes` of memory.

Snappy comes in two shapes: Java writes the block framing of xerial's snappy-java, others write one raw block. Both are
read; the framing is written, as Kafka does. LZ4 is the standard frame format.
"""

import struct
import zlib
from collections.abc import Callable
from enum import IntEnum

import cramjam
import lz4.frame
import zstandard

Buffer = bytes | bytearray | memoryview

# snappy-java cuts its input into blocks of this size before compressing each.
_SNAPPY_BLOCK_BYTES = 32 * 1024
_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_INT32 = struct.Struct(">i")

# What Kafka calls the default level of lz4 is, unlike every other, the fast compressor.
_LZ4_DEFAULT_LEVEL = 9
_LZ4_FAST = 0
_LZ4_BLOCK_BYTES = 64 * 1024

# zstd refuses larger windows by default as well: a frame may ask for memory before it has produced a byte.
_ZSTD_MAX_WINDOW_BYTES = 1 << 27
# To make a decompressor takes as long as to open a batch of 16 KiB: as many are kept as have worked at the same time,
# each with the memory for the windows of usual levels. To take one out of a list is atomic.
_ZSTD_KEPT_BYTES = 4 * 1024 * 1024
_idle_zstd_decompressors: list[zstandard.ZstdDecompressor] = []

_GZIP_WBITS = 31
# A member of a gzip stream may take 20 bytes; the input is handed over in pieces, or a megabyte of them takes seconds.
_GZIP_INPUT_BYTES = 16 * 1024
# Producers write one. zlib lets other threads run at every call, so a megabyte of members can wait fifty thousand times
# for its turn, in several threads at once: seconds of a busy machine for records that nobody sent.
_GZIP_MEMBERS_MAX = 1000


class Codec(IntEnum):
    """The compression of a batch, as numbered in its attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class CompressionError(ValueError):
    """The compressed bytes are damaged, or they grow beyond the bound of the call."""


class OutputTooLarge(CompressionError):
    """Decompression would pass the bound given by the caller."""

    def __init__(self, codec: Codec, max_output_bytes: int) -> None:
        super().__init__(f"{codec.name.lower()} data decompresses to more than {max_output_bytes} bytes")


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    """The data in the codec's form; `level` applies to gzip, lz4 and zstd, and None means Kafka's default level."""
    return _COMPRESSORS[codec](data, level)


def decompress(codec: Codec, data: Buffer, max_output_bytes: int) -> bytes:
    """The original bytes, or CompressionError if they are damaged or more than `max_output_bytes`."""
    try:
        return _DECOMPRESSORS[codec](data, max_output_bytes)
    except CompressionError:
        raise
    except (zlib.error, cramjam.DecompressionError, RuntimeError, zstandard.ZstdError, EOFError, struct.error) as error:
        raise CompressionError(f"damaged {codec.name.lower()} data: {error}") from error


def _copy(data: Buffer, _level: int | None) -> bytes:
    return bytes(data)


def _compress_gzip(data: Buffer, level: int | None) -> bytes:
    compressor = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, _GZIP_WBITS)
    return compressor.compress(data) + compressor.flush()


def _compress_snappy(data: Buffer, _level: int | None) -> bytes:
    view = memoryview(data)
    parts = [_XERIAL_HEADER]
    for start in range(0, len(view), _SNAPPY_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _SNAPPY_BLOCK_BYTES]))
        parts.append(_INT32.pack(len(block)))
        parts.append(block)
    return b"".join(parts)


def _compress_lz4(data: Buffer, level: int | None) -> bytes:
    # Kafka's reader knows independent blocks only, and its own writer uses 64 KiB blocks without checksums.
    compressed: bytes = lz4.frame.compress(
        data,
        compression_level=_LZ4_FAST if level is None or level == _LZ4_DEFAULT_LEVEL else level,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return compressed


def _compress_zstd(data: Buffer, level: int | None) -> bytes:
    return zstandard.ZstdCompressor(level=3 if level is None else level).compress(data)


def _copy_bounded(data: Buffer, max_output_bytes: int) -> bytes:
    if len(data) > max_output_bytes:
        raise OutputTooLarge(Codec.NONE, max_output_bytes)
    return bytes(data)


def _decompress_gzip(data: Buffer, max_output_bytes: int) -> bytes:
    view = memoryview(data)
    parts: list[bytes] = []
    total = 0
    position = 0
    members = 0
    while position < len(view):
        members += 1
        if members > _GZIP_MEMBERS_MAX:
            raise CompressionError(f"damaged gzip data: it has more than {_GZIP_MEMBERS_MAX} members")
        member = zlib.decompressobj(_GZIP_WBITS)
        while not member.eof:
            if position == len(view):
                raise CompressionError("damaged gzip data: it ends before its trailer")
            piece = view[position : position + _GZIP_INPUT_BYTES]
            part = member.decompress(piece, max_output_bytes - total + 1)
            total += len(part)
            if total > max_output_bytes:
                raise OutputTooLarge(Codec.GZIP, max_output_bytes)
            parts.append(part)
            # What is left over was copied, which is why a member gets a piece of the input and not all of it.
            position += len(piece) - len(member.unused_data)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _decompress_snappy(data: Buffer, max_output_bytes: int) -> bytes:
    view = memoryview(data)
    if bytes(view[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return _decompress_snappy_block(view, max_output_bytes, 0)
    parts: list[bytes] = []
    total = 0
    position = 0
    while position < len(view):
        if bytes(view[position : position + len(_XERIAL_MAGIC)]) == _XERIAL_MAGIC:
            # Concatenated streams repeat the header.
            position += len(_XERIAL_HEADER)
            continue
        (size,) = _INT32.unpack_from(view, position)
        position += _INT32.size
        if not 0 < size <= len(view) - position:
            raise CompressionError(
                f"damaged snappy data: a block of {size} bytes where {len(view) - position} bytes are left"
            )
        part = _decompress_snappy_block(view[position : position + size], max_output_bytes, total)
        position += size
        total += len(part)
        parts.append(part)
    return b"".join(parts)


def _decompress_snappy_block(block: memoryview, max_output_bytes: int, bytes_before: int) -> bytes:
    if bytes_before + cramjam.snappy.decompress_raw_len(block) > max_output_bytes:
        raise OutputTooLarge(Codec.SNAPPY, max_output_bytes)
    return bytes(cramjam.snappy.decompress_raw(block))


def _decompress_lz4(data: Buffer, max_output_bytes: int) -> bytes:
    decompressor = lz4.frame.LZ4FrameDecompressor()
    # As much as is asked for is allocated at once: so that is what such data usually becomes, and then more.
    wanted = _LZ4_BLOCK_BYTES + 4 * len(data)
    parts: list[bytes] = [decompressor.decompress(data, max_length=min(wanted, max_output_bytes + 1))]
    total = len(parts[0])
    while total <= max_output_bytes and not decompressor.eof:
        if decompressor.needs_input or not parts[-1]:
            raise CompressionError("damaged lz4 data: the frame has no end")
        parts.append(decompressor.decompress(b"", max_length=min(total, max_output_bytes + 1 - total)))
        total += len(parts[-1])
    if total > max_output_bytes:
        raise OutputTooLarge(Codec.LZ4, max_output_bytes)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _decompress_zstd(data: Buffer, max_output_bytes: int) -> bytes:
    try:
        decompressor = _idle_zstd_decompressors.pop()
    except IndexError:
        decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW_BYTES)
    parts: list[bytes] = []
    total = 0
    with decompressor.stream_reader(data, read_across_frames=True) as reader:
        while part := reader.read(min(max_output_bytes - total + 1, 1 << 20)):
            total += len(part)
            if total > max_output_bytes:
                raise OutputTooLarge(Codec.ZSTD, max_output_bytes)
            parts.append(part)
    # A frame cut short ends like a whole one here, unless it says how long it is; the records are counted later anyway.
    if total < zstandard.frame_content_size(data):
        raise CompressionError("damaged zstd data: the frame has no end")
    if decompressor.memory_size() <= _ZSTD_KEPT_BYTES:
        _idle_zstd_decompressors.append(decompressor)
    return parts[0] if len(parts) == 1 else b"".join(parts)


_COMPRESSORS: dict[Codec, Callable[[Buffer, int | None], bytes]] = {
    Codec.NONE: _copy,
    Codec.GZIP: _compress_gzip,
    Codec.SNAPPY: _compress_snappy,
    Codec.LZ4: _compress_lz4,
    Codec.ZSTD: _compress_zstd,
}

_DECOMPRESSORS: dict[Codec, Callable[[Buffer, int], bytes]] = {
    Codec.NONE: _copy_bounded,
    Codec.GZIP: _decompress_gzip,
    Codec.SNAPPY: _decompress_snappy,
    Codec.LZ4: _decompress_lz4,
    Codec.ZSTD: _decompress_zstd,
}
