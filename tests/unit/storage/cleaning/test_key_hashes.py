import random

from unit.storage.cleaning.hashes import hashes_of


def pairs(keys: list[bytes], between: bytes = b"") -> list[tuple[int, int]]:
    hashes = hashes_of(keys, between)
    return list(zip(hashes.first.tolist(), hashes.second.tolist(), strict=True))


def test_equal_keys_have_equal_hashes_wherever_they_stand() -> None:
    chance = random.Random(1)
    keys = [chance.randbytes(length) for length in (*range(70), 255, 256, 257, 5000)]
    alone = [pairs([key])[0] for key in keys]
    assert pairs(keys) == alone
    assert pairs(keys, between=b"\xff\xfe\xfd") == alone
    assert pairs([*keys, *keys]) == alone + alone


def test_keys_that_differ_a_little_have_different_hashes() -> None:
    base = bytes(16)
    keys = [base, *(base[:place] + b"\x01" + base[place + 1 :] for place in range(16))]
    # Zeros behind a key are part of it.
    keys += [bytes(length) for length in range(300) if length != 16]
    keys += [b"%d" % number for number in range(20_000)]
    found = pairs(keys)
    assert len(set(found)) == len(keys)
    for side in (0, 1):
        assert len({pair[side] for pair in found}) == len(keys)


def test_no_key_has_the_hash_that_stands_for_none() -> None:
    assert (0, 0) not in pairs([b"", b"\x00", b"a"])
