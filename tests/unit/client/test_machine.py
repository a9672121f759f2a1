"""What a client takes from its machine decides what it does, and nothing else does."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import ottla
from ottla.client.machine import Machine

TESTS = Path(__file__).resolve().parents[2]


def digest_in_another_process(seed: int, hash_seed: int) -> str:
    """Texts hash differently there, and objects lie at other addresses."""
    sources = Path(ottla.__file__).resolve().parents[1]
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": f"{sources}{os.pathsep}{TESTS}"}
    command = [sys.executable, "-m", "unit.client.repeatable_run", str(seed)]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def test_a_run_with_the_same_seed_sends_the_same_bytes_in_every_process() -> None:
    assert len({digest_in_another_process(seed=1, hash_seed=number) for number in (1, 2, 3)}) == 1


def test_a_run_with_another_seed_sends_other_bytes() -> None:
    assert digest_in_another_process(seed=1, hash_seed=1) != digest_in_another_process(seed=2, hash_seed=1)


def test_a_shuffle_loses_nothing_and_has_every_order() -> None:
    orders = Counter(tuple(Machine().shuffled("abc")) for _ in range(1000))
    assert set(orders) == {tuple(order) for order in ("abc", "acb", "bac", "bca", "cab", "cba")}


def test_a_number_stays_below_its_limit() -> None:
    assert {Machine().number_below(3) for _ in range(1000)} == {0, 1, 2}
    assert Machine(random=lambda: 1 - 2**-53).number_below(7) == 6
