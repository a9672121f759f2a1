"""Fuzzes every target for its share of FUZZ_SECONDS; see targets.py for what must hold."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fuzz.targets import TARGETS

SECONDS = float(os.environ.get("FUZZ_SECONDS", "20"))
# It compiles hundreds of decoders before it begins.
SHARES = {"requests": 6}
RSS_MEGABYTES_MAX = 1024
INPUT_SECONDS_MAX = 10

try:
    import atheris
except ImportError:
    # There are wheels for Linux on x86-64 alone.
    atheris = None

pytestmark = pytest.mark.timeout(SECONDS + 300)


def share_of(name: str) -> float:
    return SECONDS * SHARES.get(name, 1) / sum(SHARES.get(other, 1) for other in TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_only_declared_exceptions_come_out(name: str, tmp_path: Path) -> None:
    if atheris is None:
        mutate(name, share_of(name))
        return
    script = Path(__file__).with_name("run_target.py")
    options = [
        f"-max_total_time={max(int(share_of(name)), 1)}",
        f"-rss_limit_mb={RSS_MEGABYTES_MAX}",
        f"-timeout={INPUT_SECONDS_MAX}",
        f"-artifact_prefix={tmp_path}/",
        "-max_len=4096",
    ]
    command = [sys.executable, str(script), name, str(tmp_path / "corpus"), *options]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    broken = {path.name: path.read_bytes()[:200] for path in tmp_path.glob("*-*") if path.is_file()}
    assert ended.returncode == 0, f"{ended.stdout[-2000:]}\n{ended.stderr[-3000:]}\n{broken}"


@pytest.mark.parametrize("name", TARGETS)
def test_every_seed_is_read(name: str) -> None:
    """A seed that its target refuses at once would teach the fuzzer nothing; one that breaks it is a bug."""
    for seed in TARGETS[name].seeds():
        TARGETS[name].read(seed)


def mutate(name: str, seconds: float) -> None:
    """Without coverage to guide it: seeds with bytes changed, cut, doubled and inserted."""
    chance = random.Random(name)
    seeds = list(TARGETS[name].seeds())
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randrange(1, 5)):
            change(data, chance)
        TARGETS[name].read(bytes(data))


def change(data: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(data) + 1)
    what = chance.randrange(4)
    if what == 0 and place < len(data):
        data[place] ^= 1 << chance.randrange(8)
    elif what == 1:
        del data[place : place + chance.randrange(8)]
    elif what == 2:
        data[place:place] = data[place : place + chance.randrange(16)]
    else:
        data[place:place] = chance.choice((b"\xff" * 4, b"\x7f\xff\xff\xff", bytes(4), b"\x80" * 3))
