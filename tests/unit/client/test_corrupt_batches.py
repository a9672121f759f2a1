import asyncio

import pytest

from ottla.client.corrupt_batches import find_first_sound


@pytest.mark.parametrize("damaged", [range(10, 11), range(10, 13), range(10, 500), range(10, 1000)])
def test_the_end_of_one_damaged_stretch_is_found_exactly(damaged: range) -> None:
    probes = []

    async def is_sound(offset: int) -> bool:
        probes.append(offset)
        return offset not in damaged

    assert asyncio.run(find_first_sound(10, 1000, is_sound)) == damaged.stop
    assert len(probes) < 25, "the steps double"


def test_the_end_of_the_log_is_where_to_go_if_nothing_behind_is_sound() -> None:
    async def is_sound(offset: int) -> bool:
        assert 3 < offset < 7, "only what the log holds is asked for"
        return False

    assert asyncio.run(find_first_sound(3, 7, is_sound)) == 7
