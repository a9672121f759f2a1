"""Where the records of many batches begin.

A record begins where the one before ends, which only its length tells: one step for each record. In Python a step takes
longer than everything else that is done with a record, so many places are stepped on from together, as columns: small
batches side by side, and large ones from several places at once. Where a record begins in the middle of a large batch
is guessed (a length that leads to another length, three times, and each in front of an empty byte of attributes).

A guess counts only if the steps from the beginning of its batch lead to it. Where they miss it, they go on one by one
until they meet another; so the worst that wrong guesses cost is time. A batch whose steps do not end where it ends, or
are not as many as it has records, is refused.
"""

from array import array

import numpy as np
import numpy.typing as npt

from ottla.protocol.columnar.varints import LOW, MORE, Bytes, Int64s
from ottla.protocol.compression import Buffer
from ottla.protocol.primitives import read_varint
from ottla.protocol.records import CorruptRecords

# Attributes, two deltas, two lengths and the number of headers take one byte each at least.
RECORD_BYTES_MIN = 6

# Fewer places than this are left to the steps one by one, which cost as much.
_PLACES_MIN = 64
# A batch is stepped through from places that are about this many records apart.
_RECORDS_PER_PLACE = 64
# A record is looked for from each place on, in this many times the mean of their sizes, and followed by so many others.
_WINDOW_RECORDS = 1.5
_WINDOW_BYTES_MAX = 8192
_FOLLOWERS = 3
# Places from which there is nothing left to step on are taken out after this many steps.
_STEPS_AT_ONCE = 96
# Behind everything.
_NOWHERE = 1 << 62


def _jump_table() -> npt.NDArray[np.int16]:
    """How far it is to the next record, by the first two bytes of one; 0 where these do not tell, or tell nonsense."""
    pairs = np.arange(1 << 16)
    low, high = pairs & 0xFF, pairs >> 8
    is_short = low < MORE
    lengths = np.where(is_short, low, low & LOW | high << 7)
    jumps = (lengths >> 1) + np.where(is_short, 1, 2)
    is_length = (lengths & 1 == 0) & (lengths >> 1 >= RECORD_BYTES_MIN) & (is_short | (high < MORE))
    return np.where(is_length, jumps, 0).astype(np.int16)


_JUMPS = _jump_table()


def record_starts(data: Buffer, begins: Int64s, ends: Int64s, counts: Int64s) -> Int64s:
    """Find the position of each record, its length in front; batch i goes from begins[i] to ends[i] and has counts[i].

    CorruptRecords unless each batch is filled by exactly its records. Batches follow each other in the data.
    """
    if (counts * (RECORD_BYTES_MIN + 1) > ends - begins).any() or (counts < 0).any():
        wrong = int(np.argmax((counts * (RECORD_BYTES_MIN + 1) > ends - begins) | (counts < 0)))
        raise CorruptRecords(f"{counts[wrong]} records do not fit into {ends[wrong] - begins[wrong]} bytes")
    if int(counts.sum()) < _PLACES_MIN:
        return _one_by_one(data, begins, ends, counts)
    octets = np.frombuffer(data, np.uint8)
    places, batches = _places(octets, begins, ends, counts)
    if len(places) < _PLACES_MIN:
        return _one_by_one(data, begins, ends, counts)
    stops = np.append(places[1:], 0)
    is_last = np.append(batches[1:] != batches[:-1], True)
    stops[is_last] = ends[batches[is_last]]
    starts, numbers, ended_at = _together(data, octets, places, stops)
    doubtful = np.bincount(batches, numbers, len(begins)) != counts
    doubtful[batches[ended_at != stops]] = True
    if not doubtful.any():
        return starts
    is_kept = ~doubtful[batches]
    mended = array("q")
    for batch in np.flatnonzero(doubtful).tolist():
        rows = np.flatnonzero(batches == batch)
        known = dict(zip(places[rows].tolist(), rows.tolist(), strict=True))
        begin, end, count = int(begins[batch]), int(ends[batch]), int(counts[batch])
        met, walked, position = _mended(data, begin, end, known, ended_at)
        if position != end or len(walked) + int(numbers[met].sum()) != count:
            # Something is wrong with it, and the steps one by one say what.
            _walk(data, begin, end, count, array("q"))
        is_kept[met] = True
        mended += walked
    kept = starts[np.repeat(is_kept, numbers)]
    return np.sort(np.concatenate([kept, np.array(mended, np.int64)]), kind="stable")


def _mended(
    data: Buffer, position: int, end: int, known: dict[int, int], ended_at: Int64s
) -> tuple[list[int], "array[int]", int]:
    """The rows of the places that the steps through a batch meet, the steps between them, and where they end."""
    met: list[int] = []
    walked = array("q")
    while position < end:
        if (row := known.get(position)) is not None:
            met.append(row)
            position = int(ended_at[row])
        else:
            walked.append(position)
            position = _behind(data, position)
    return met, walked, position


def _one_by_one(data: Buffer, begins: Int64s, ends: Int64s, counts: Int64s) -> Int64s:
    starts = array("q")
    for begin, end, count in zip(begins.tolist(), ends.tolist(), counts.tolist(), strict=True):
        _walk(data, begin, end, count, starts)
    return np.array(starts, np.int64)


def _walk(data: Buffer, position: int, end: int, record_count: int, starts: "array[int]") -> None:
    """Step from record to record; numbers of one and two bytes, which nearly all lengths are, are read in place."""
    add = starts.append
    try:
        for _ in range(record_count):
            add(position)
            byte = data[position]
            if byte < MORE:
                position += 1
            elif data[position + 1] < MORE:
                byte, position = byte & LOW | data[position + 1] << 7, position + 2
            else:
                length, position = read_varint(data, position)
                byte = length << 1 if length >= 0 else 1
            position += byte >> 1
            if byte & 1 or position > end:
                raise CorruptRecords(f"a record of {byte >> 1} bytes does not fit into its batch")
            if byte < RECORD_BYTES_MIN << 1:
                raise CorruptRecords(f"a record of {byte >> 1} bytes has no room for its fields")
    except (IndexError, ValueError) as error:
        raise CorruptRecords(f"a record has no length: {error}") from error
    if position != end:
        raise CorruptRecords(f"{end - position} bytes follow the last of {record_count} records")


def _places(octets: Bytes, begins: Int64s, ends: Int64s, counts: Int64s) -> tuple[Int64s, Int64s]:
    """Where to step on from, in order, and to which batch each place belongs."""
    filled = np.flatnonzero(counts)
    large = np.flatnonzero(counts >= 2 * _RECORDS_PER_PLACE)
    if not large.size:
        return begins[filled], filled
    guesses, batches = _guesses(octets, begins, ends, counts, large)
    places = np.concatenate([begins[filled], guesses])
    order = np.argsort(places, kind="stable")
    return places[order], np.concatenate([filled, batches])[order]


def _guesses(octets: Bytes, begins: Int64s, ends: Int64s, counts: Int64s, large: Int64s) -> tuple[Int64s, Int64s]:
    """Places inside of large batches at which records seem to begin, and their batches; at most one in each window."""
    sizes: Int64s = (ends - begins)[large]
    numbers: Int64s = counts[large] // _RECORDS_PER_PLACE
    batches = np.repeat(large, numbers)
    # In the first part of a batch a record begins anyhow.
    parts = np.arange(len(batches)) - np.repeat(np.cumsum(numbers) - numbers, numbers) + 1
    strides: Int64s = sizes // (numbers + 1)
    looked_at = begins[batches] + strides.repeat(numbers) * parts
    width = min(int(sizes.sum() / counts[large].sum() * _WINDOW_RECORDS), _WINDOW_BYTES_MAX)
    fits = looked_at + width < ends[batches]
    batches, looked_at = batches[fits], looked_at[fits]
    rows, columns = _candidates(np.lib.stride_tricks.sliding_window_view(octets, width)[looked_at])
    seeming: Int64s = looked_at[rows] + columns
    limits = ends[batches[rows]] - 3
    pairs = _pairs(octets)
    at = seeming
    for _ in range(_FOLLOWERS):
        jumps = _JUMPS[pairs[at]]
        at = at + jumps
        behind_length = at + 1 + (octets.take(at, mode="clip") >= MORE)
        is_good = (jumps > 0) & (at <= limits) & (octets.take(behind_length, mode="clip") == 0)
        rows, seeming, limits, at = rows[is_good], seeming[is_good], limits[is_good], at[is_good]
    rows, firsts = np.unique(rows, return_index=True)
    return seeming[firsts], batches[rows]


def _candidates(windows: Bytes) -> tuple[Int64s, Int64s]:
    """Where in a window, by row and column, a length of one or two bytes is followed by an empty byte of attributes."""
    flat = windows.reshape(-1)
    # An empty byte behind one that is not: this leaves little to look at even of a window full of empty bytes.
    attributes = np.flatnonzero((flat[2:] == 0) & (flat[1:-1] != 0)) + 2
    last, first = flat[attributes - 1], flat[attributes - 2]
    short = attributes[(last < MORE) & (last & 1 == 0)] - 1
    long = attributes[(last < MORE) & (first >= MORE) & (first & 1 == 0)] - 2
    found = np.sort(np.concatenate([short, long]))
    return np.divmod(found, windows.shape[1])


def _together(data: Buffer, octets: Bytes, places: Int64s, stops: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Step from all places at once, each up to its stop or beyond; returns the steps, their counts, and their ends."""
    pairs = _pairs(octets)
    numbers = np.zeros(len(places), np.int64)
    ended_at = places.copy()
    going = np.arange(len(places))
    found: list[Int64s] = []
    while len(going) >= _PLACES_MIN:
        at, until = ended_at[going], stops[going]
        lines: list[Int64s] = []
        is_before = at < until
        while len(lines) < _STEPS_AT_ONCE and (left := np.count_nonzero(is_before)):
            lines.append(at)
            jumps = _JUMPS[pairs[np.minimum(at, len(pairs) - 1)]]
            jumps *= is_before
            at = at + jumps
            if np.count_nonzero(jumps) < left:
                for row in np.flatnonzero((jumps == 0) & is_before).tolist():
                    at[row] = _behind(data, int(at[row]))
            is_before = at < until
        table = np.stack(lines, axis=1)
        is_step = table < until[:, None]
        numbers[going] += is_step.sum(axis=1)
        found.append(table[is_step])
        ended_at[going] = at
        going = going[is_before]
    rest = array("q")
    for row in going.tolist():
        position, until_position, before = int(ended_at[row]), int(stops[row]), len(rest)
        while position < until_position:
            rest.append(position)
            position = _behind(data, position)
        numbers[row] += len(rest) - before
        ended_at[row] = position
    found.append(np.array(rest, np.int64))
    return np.sort(np.concatenate(found), kind="stable") if len(found) > 2 or rest else found[0], numbers, ended_at


def _pairs(octets: Bytes) -> npt.NDArray[np.uint16]:
    """Two bytes as one number, from every byte on."""
    return np.ndarray((len(octets) - 1,), np.dtype("<u2"), octets, strides=(1,))


def _behind(data: Buffer, position: int) -> int:
    """Where a record ends, if it can be one."""
    try:
        length, begin = read_varint(data, position)
    except (IndexError, ValueError):
        return _NOWHERE
    return begin + length if length >= RECORD_BYTES_MIN else _NOWHERE
