"""The table of `kafka-transactions`."""

from ottla.cli.kafka.transactions.tool import table_text


def test_columns_are_as_wide_as_their_widest_cell_with_a_tab_behind_each() -> None:
    assert table_text([("Id", "State"), ("long name", 7), ("b", None)]) == (
        "Id       \tState\t\nlong name\t7    \t\nb        \tNone \t\n"
    )
