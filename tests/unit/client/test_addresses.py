"""Addresses as people write them."""

import pytest

from ottla.client.addresses import Address, parse_addresses


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("broker:9093", [Address("broker", 9093)]),
        ("broker", [Address("broker", 9092)]),
        ("a:1,b:2, a:1 ,", [Address("a", 1), Address("b", 2)]),
        ("[::1]:9094", [Address("::1", 9094)]),
        ("[::1]", [Address("::1", 9092)]),
        ("PLAINTEXT://10.0.0.1:9092", [Address("10.0.0.1", 9092)]),
    ],
)
def test_a_list_of_addresses_is_read(text: str, expected: list[Address]) -> None:
    assert list(parse_addresses(text)) == expected


def test_addresses_may_come_one_by_one() -> None:
    assert parse_addresses(["a:1", "b:2"]) == (Address("a", 1), Address("b", 2))


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("", "HOST:PORT"),
        (" , ", "HOST:PORT"),
        (":9092", "host is missing"),
        ("broker:port", "from 1 to 65535"),
        ("broker:0", "from 1 to 65535"),
        ("broker:70000", "from 1 to 65535"),
        ("::1:9092", "brackets"),
        ("[::1:9092", "[::1]:9092"),
    ],
)
def test_what_is_no_address_is_refused_with_a_remedy(text: str, remedy: str) -> None:
    with pytest.raises(ValueError) as refusal:
        parse_addresses(text)
    assert remedy in str(refusal.value)


def test_an_address_is_printed_as_it_is_written() -> None:
    assert [str(Address("::1", 9092)), str(Address("broker", 9092))] == ["[::1]:9092", "broker:9092"]
