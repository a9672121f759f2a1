"""Settings of a producer that no broker would take."""

from typing import Any

import pytest

from ottla.client.producer_settings import ProducerSettings


@pytest.mark.parametrize("timeout_ms", [0, -1, 1 << 31])
def test_a_transactions_timeout_has_its_bounds(timeout_ms: int) -> None:
    with pytest.raises(ValueError, match=f"transaction_timeout_ms={timeout_ms}: it is between 1 and"):
        ProducerSettings(transactional_id="id", transaction_timeout_ms=timeout_ms)


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [({"transaction_timeout_ms": 1.5}, "whole number of milliseconds"), ({"codec": "gzip"}, "Codec.GZIP")],
)
def test_a_value_of_another_type_is_refused_with_what_is_wanted(wrong: dict[str, Any], remedy: str) -> None:
    with pytest.raises(TypeError, match=remedy):
        ProducerSettings(**wrong)
