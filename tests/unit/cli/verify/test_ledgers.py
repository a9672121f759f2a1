from ottla.cli.verify.ledgers import Ledger, Ledgers, headers_of_run, value_of_number
from unit.cli.made_records import record


def ledger(*numbers: int, expected: int, partition: int = 0) -> Ledger:
    made = Ledger("r", expected)
    for number in numbers:
        made.add("t", partition, number)
    return made


def test_every_number_once_and_in_order_is_sound() -> None:
    assert ledger(1, 2, 3, expected=3).is_sound


def test_missing_numbers_are_listed_even_at_the_end() -> None:
    row = ledger(1, 3, expected=5).row()
    assert (row["missing"], row["first_missing"]) == (3, [2, 4, 5])
    assert not ledger(1, 3, expected=5).is_sound


def test_duplicates_are_not_taken_for_disorder() -> None:
    made = ledger(1, 2, 1, 3, expected=3)
    assert (made.duplicates, made.out_of_order, made.is_complete, made.is_sound) == (1, 0, True, False)


def test_order_is_a_partitions() -> None:
    made = ledger(2, 1, expected=4)
    made.add("t", 1, 4)
    made.add("t", 2, 3)
    assert (made.out_of_order, made.duplicates, made.is_complete) == (1, 0, True)


def test_runs_are_told_apart_and_others_left_alone() -> None:
    ledgers = Ledgers()
    for number in (1, 2):
        ledgers.add(record(value_of_number(number, 20), headers=headers_of_run("a", 2)))
    ledgers.add(record(b"1", headers=headers_of_run("b", 3)))
    ledgers.add(record(b"1"))
    ledgers.add(record(b"x", headers=headers_of_run("a", 2)))
    assert {name: (found.received, found.is_sound) for name, found in ledgers.by_run.items()} == {
        "a": (2, True),
        "b": (1, False),
    }
    assert ledgers.foreign == 2


def test_one_run_can_be_chosen() -> None:
    ledgers = Ledgers("a")
    for run in ("a", "b"):
        ledgers.add(record(b"1", headers=headers_of_run(run, 1)))
    assert list(ledgers.by_run) == ["a"]
