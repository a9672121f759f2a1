"""Who leads, as members of a group tell each other."""

import asyncio
import json

import pytest

from ottla.registry.election import (
    Choice,
    Identity,
    LeaderElection,
    choose_leader,
    decode_choice,
    decode_identity,
    encode_choice,
    encode_identity,
)

A, B = Identity("a", 8081), Identity("b", 8081)
SPECTATOR = Identity("0", 8081, is_eligible=False)


def test_identities_are_those_of_confluent() -> None:
    assert json.loads(encode_identity(A)) == {
        "version": 1,
        "host": "a",
        "port": 8081,
        "master_eligibility": True,
        "scheme": "http",
    }
    assert decode_identity(encode_identity(SPECTATOR)) == SPECTATOR


def test_choices_are_those_of_confluent() -> None:
    encoded = encode_choice(Choice(A, "member 1"))
    assert json.loads(encoded) == {
        "version": 1,
        "error": 0,
        "master": "member 1",
        "master_identity": json.loads(encode_identity(A)),
    }
    for choice in (Choice(A, "member 1"), Choice(None), Choice(None, has_duplicate_urls=True)):
        assert decode_choice(encode_choice(choice)) == choice


def test_an_ipv6_address_has_brackets_in_a_url() -> None:
    assert Identity("::1", 8081, "https").url == "https://[::1]:8081"


def test_the_eligible_member_with_the_smallest_url_leads() -> None:
    assert choose_leader({"m1": B, "m2": A, "m3": SPECTATOR}) == Choice(A, "m2")
    assert choose_leader({"m3": SPECTATOR}) == Choice(None)


def test_nobody_leads_if_two_have_one_address() -> None:
    assert choose_leader({"m1": A, "m2": A}) == Choice(None, has_duplicate_urls=True)


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b"null", b'{"host":1,"port":2}', b'{"host":"a","port":"b"}'])
def test_nonsense_chooses_nobody(data: bytes) -> None:
    assert decode_identity(data) is None
    assert decode_choice(data) == Choice(None)


def test_a_choice_holds_until_the_next_one_or_the_end() -> None:
    heard: list[Choice | str | None] = []
    election = LeaderElection(B, heard.append, lambda: heard.append("due"))

    async def scenario() -> None:
        await election.prepare_to_join()
        (offer,) = election.offer()
        assert (offer.protocol, decode_identity(offer.metadata)) == ("v0", B)
        parts = await election.divide("v0", {"me": offer.metadata, "other": encode_identity(A), "strange": b"?"})
        assert set(parts) == {"me", "other", "strange"}
        await election.take(parts["me"])
        election.rebalance_due()
        await election.prepare_to_join()
        await election.leave()

    asyncio.run(scenario())
    assert heard == [Choice(A, "other"), "due", None]
