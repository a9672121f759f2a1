"""Whole numbers of the widths that requests have room for: what does not fit is refused where it is read.

Each is the `type` of an option, and a ValueError for whoever reads a number out of a longer text.
"""

import argparse
from collections.abc import Callable
from typing import Final


class NotInRange(argparse.ArgumentTypeError, ValueError):
    """What argparse shows as it is."""


def _of_width(bits: int) -> Callable[[str], int]:
    lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise NotInRange(f"{text or repr(text)} is not a whole number") from None
        if not lowest <= number <= highest:
            raise NotInRange(f"{text} is not a number from {lowest} to {highest}")
        return number

    return parse


int16: Final = _of_width(16)
int32: Final = _of_width(32)
int64: Final = _of_width(64)
