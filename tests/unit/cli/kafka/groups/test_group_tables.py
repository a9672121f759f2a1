from ottla.cli.kafka.groups.group_tables import assignment_text, listing_lines, member_lines, reset_lines, state_lines
from ottla.client import TopicPartition
from ottla.client.addresses import Address
from ottla.client.admin.groups import GroupDescription, GroupListing, MemberDescription
from ottla.client.metadata import Node


def test_an_assignment_is_partitions_by_topic() -> None:
    held = [TopicPartition("b", 0), TopicPartition("a", 1), TopicPartition("a", 0)]
    assert assignment_text(held) == "a:0,1;b:0"
    assert assignment_text(()) == assignment_text(None) == "-"


def test_columns_are_as_wide_as_the_longest_name() -> None:
    groups = [
        GroupListing("g", "consumer", "Empty", "classic"),
        GroupListing("g" * 30, "consumer", "Stable", "consumer"),
    ]
    header, short, long = listing_lines(groups, with_type=True, with_state=True)
    assert header.index("TYPE") == short.index("Classic") == long.index("Consumer") == 41
    assert listing_lines(groups, with_type=False, with_state=False) == ["g", "g" * 30]


def test_the_column_of_instance_ids_is_there_if_one_member_has_one() -> None:
    def lines(instance_id: str | None) -> list[str]:
        member = MemberDescription("m-1", instance_id, "client", "/127.0.0.1", (TopicPartition("a", 0),))
        return member_lines(GroupDescription("g", "Stable", "classic", members=(member,)), verbose=False)

    assert "GROUP-INSTANCE-ID" not in lines(None)[0]
    assert "GROUP-INSTANCE-ID" in lines("static")[0]
    assert lines("static")[1].split() == ["g", "m-1", "static", "/127.0.0.1", "client", "1"]


def test_the_state_of_a_group_of_the_new_protocol_has_epochs() -> None:
    node = Node(3, Address("broker", 9092))
    group = GroupDescription(
        "g", "Stable", "consumer", "consumer", "uniform", node, group_epoch=7, target_assignment_epoch=6
    )
    header, row = state_lines(group, verbose=True)
    assert "TARGET-ASSIGNMENT-EPOCH" in header
    assert row.split() == ["g", "broker:9092", "(3)", "uniform", "Stable", "7", "6", "0"]


def test_groups_without_a_plan_widen_the_table_of_a_reset() -> None:
    [header] = reset_lines(["g" * 20], [])
    assert header.index("TOPIC") == 21
