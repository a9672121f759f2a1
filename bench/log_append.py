"""CPU time of one log append and one warm read, beside the bare system calls.

Run: python bench/log_append.py [rounds]
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ottla.protocol.batch_builder import BatchBuilder
from ottla.storage.append_validation import needs_rewrite, validate_client_batch
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig

APPENDS = 20_000
READS = 20_000
NOW_MS = 1_700_000_000_000
RECORD_BYTES = 100


def report(line: str) -> None:
    sys.stdout.write(line + "\n")


def make_batch(records: int, producer_id: int = -1, sequence: int = -1) -> bytes:
    epoch = 0 if producer_id >= 0 else -1
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    for number in range(records):
        builder.append(None, bytes(RECORD_BYTES), timestamp_ms=NOW_MS + number)
    return bytes(builder.build())


def cpu_us(work: Callable[[], None], count: int) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) / count * 1e6


def bare_writev(directory: Path) -> float:
    batch = make_batch(1)
    parts = (batch[:16], memoryview(batch)[16:])
    descriptor = os.open(directory / "bare", os.O_RDWR | os.O_CREAT | os.O_APPEND)

    def work() -> None:
        for _ in range(APPENDS):
            os.writev(descriptor, parts)

    try:
        return cpu_us(work, APPENDS)
    finally:
        os.close(descriptor)


def bare_preadv(directory: Path, size: int) -> float:
    descriptor = os.open(directory / "bare", os.O_RDONLY)

    def work() -> None:
        for number in range(READS):
            os.preadv(descriptor, (bytearray(size),), number % 1000, 0)

    try:
        return cpu_us(work, READS)
    finally:
        os.close(descriptor)


def appends(log: Log, batches: list[bytes]) -> float:
    config = log.config

    def work() -> None:
        for batch in batches:
            header = validate_client_batch(batch, config)
            if not needs_rewrite(header, config, NOW_MS):
                log.append_as_leader(batch, leader_epoch=1, now_ms=NOW_MS, header=header)

    return cpu_us(work, len(batches))


def tail_reads(log: Log) -> float:
    """What a consumer at the end of the log does: each append is followed by a read of it, which alone is timed."""
    batch = make_batch(1)
    spent = 0.0
    for _ in range(READS):
        offset = log.append_as_leader(batch, leader_epoch=1, now_ms=NOW_MS).first_offset
        start = time.thread_time_ns()
        read = log.read(offset, 1 << 20, max_offset_exclusive=log.log_end_offset, min_one_batch=True)
        spent += time.thread_time_ns() - start
        assert len(read.records) == len(batch), "the read did not find its batch in memory"
    return spent / READS / 1000


def catch_up_reads(log: Log, max_bytes: int) -> tuple[float, float]:
    offset = log.log_start_offset
    count = total = 0
    start = time.process_time()
    while offset < log.log_end_offset:
        read = log.read(offset, max_bytes, max_offset_exclusive=log.log_end_offset, min_one_batch=True)
        if read.is_cold:
            read = log.read(
                offset, max_bytes, max_offset_exclusive=log.log_end_offset, min_one_batch=True, allow_blocking=True
            )
        offset = read.next_offset
        count += 1
        total += len(read.records)
    spent = time.process_time() - start
    return spent / count * 1e6, total / spent / 1e9


def main(rounds: int) -> None:
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as root:
            directory = Path(root)
            file_system = OsFileSystem(directory)
            log = Log(file_system, directory / "bench-0", LogConfig(), now_ms=NOW_MS)
            plain = [make_batch(1)] * APPENDS
            idempotent = [make_batch(1, 1000, sequence) for sequence in range(APPENDS)]
            hundred = [make_batch(100)] * (APPENDS // 10)
            report(f"writev alone                {bare_writev(directory):7.2f} us")
            report(f"append, 1 record            {appends(log, plain):7.2f} us")
            report(f"append, 1 record idempotent {appends(log, idempotent):7.2f} us")
            report(f"append, 100 records         {appends(log, hundred):7.2f} us")
            report(f"preadv alone, 170 B         {bare_preadv(directory, 170):7.2f} us")
            report(f"read at the end, 1 record   {tail_reads(log):7.2f} us")
            each, rate = catch_up_reads(log, 1 << 20)
            report(f"catch-up read, 1 MiB        {each:7.2f} us, {rate:.2f} GB/s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
