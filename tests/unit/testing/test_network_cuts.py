import json

from ottla.testing.network_cuts import CLIENTS, OPEN, Cut, NetworkCuts, of_json, to_json

BOTH_WAYS = Cut(loses_sent=True, loses_received=True)


def test_a_cut_concerns_both_ends_of_every_link_between_two_groups() -> None:
    cuts = NetworkCuts()
    cuts.cut([1], [2, 3], clients=False, one_way=False, reset=False)
    assert cuts.table_of(1) == {"2": BOTH_WAYS, "3": BOTH_WAYS}
    assert cuts.table_of(2) == cuts.table_of(3) == {"1": BOTH_WAYS}


def test_a_cut_in_one_direction_loses_what_one_end_sends_and_the_other_would_receive() -> None:
    cuts = NetworkCuts()
    cuts.cut([1], [2], clients=True, one_way=True, reset=False)
    assert cuts.table_of(1) == {"2": Cut(loses_sent=True), CLIENTS: Cut(loses_sent=True)}
    assert cuts.table_of(2) == {"1": Cut(loses_received=True)}


def test_cuts_add_up_until_they_are_healed() -> None:
    cuts = NetworkCuts()
    cuts.cut([1], [2], clients=False, one_way=True, reset=False)
    cuts.cut([2], [1], clients=False, one_way=True, reset=False)
    assert cuts.table_of(1) == {"2": BOTH_WAYS}
    cuts.cut([1], [2], clients=False, one_way=False, reset=True)
    assert cuts.table_of(2)["1"].is_reset
    cuts.heal()
    assert cuts.table_of(1) == cuts.table_of(2) == {}


def test_only_a_link_without_any_loss_is_open() -> None:
    assert OPEN.is_open
    assert not any(cut.is_open for cut in (Cut(loses_sent=True), Cut(loses_received=True), Cut(is_reset=True)))


def test_a_table_survives_its_way_to_another_process() -> None:
    table = {"2": BOTH_WAYS, CLIENTS: Cut(is_reset=True)}
    assert of_json(json.loads(json.dumps(to_json(table)))) == table
