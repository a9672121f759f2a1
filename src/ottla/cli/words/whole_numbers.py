"""Whole numbers of the widths that requests have room for, as the `type` of an option."""

import argparse
from collections.abc import Callable
from typing import Final


class NotInRange(argparse.ArgumentTypeError, ValueError):
    """What argparse shows as it is."""


def _of_width(bits: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        from ottla.protocol.written_numbers import parse_whole_number

        try:
            return parse_whole_number(text, bits)
        except ValueError as error:
            raise NotInRange(str(error)) from None

    return parse


int16: Final = _of_width(16)
int32: Final = _of_width(32)
int64: Final = _of_width(64)
