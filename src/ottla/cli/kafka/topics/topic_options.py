"""The options of `kafka-topics`, and which of them fit together."""

import argparse
import sys
from typing import Final

from ottla.cli.exits import UsageError
from ottla.cli.kafka.frame.options import Once, ToolParser
from ottla.cli.words.whole_numbers import int16, int32

_ACTIONS: Final = ("create", "list", "alter", "describe", "delete")
PARTITION_FILTERS: Final = (
    "under_replicated_partitions",
    "unavailable_partitions",
    "under_min_isr_partitions",
    "at_min_isr_partitions",
)
# The option, and the actions with which it means something.
_BELONGS_TO: Final = {
    "config": ("create",),
    "partitions": ("create", "alter"),
    "replication_factor": ("create",),
    "replica_assignment": ("create", "alter"),
    "topics_with_overrides": ("describe",),
    **dict.fromkeys(PARTITION_FILTERS, ("describe",)),
    "if_exists": ("alter", "delete", "describe"),
    "if_not_exists": ("create",),
    "exclude_internal": ("list", "describe"),
}


def topic_parser() -> ToolParser:
    """What the tool understands."""
    parser = ToolParser("kafka-topics", "This tool helps to create, delete, describe, or change a topic.")
    parser.add_bootstrap()
    for action, does in (
        ("create", "create a topic"),
        ("list", "list topics"),
        ("alter", "add partitions"),
        ("describe", "show topics and their partitions"),
        ("delete", "delete topics"),
    ):
        parser.add_argument(f"--{action}", action="store_true", help=does)
    parser.add_argument("--topic", action=Once, help="name; a regular expression except with --create")
    parser.add_argument("--topic-id", action=Once, help="id of the topic to describe")
    parser.add_argument("--partitions", action=Once, type=int32, metavar="COUNT")
    parser.add_argument("--replication-factor", action=Once, type=int16, metavar="COUNT")
    parser.add_argument("--replica-assignment", action=Once, metavar="ID:ID,ID:ID,...", help="brokers per partition")
    parser.add_argument("--config", action="append", metavar="NAME=VALUE", help="setting of the new topic; repeatable")
    parser.add_argument("--delete-config", action="append", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--if-exists", action="store_true", help="no error if there is no such topic")
    parser.add_argument("--if-not-exists", action="store_true", help="no error if the topic is there already")
    parser.add_argument("--exclude-internal", action="store_true", help="leave internal topics out")
    parser.add_argument("--topics-with-overrides", action="store_true", help="only topics with settings of their own")
    parser.add_argument("--under-replicated-partitions", action="store_true")
    parser.add_argument("--unavailable-partitions", action="store_true")
    parser.add_argument("--under-min-isr-partitions", action="store_true")
    parser.add_argument("--at-min-isr-partitions", action="store_true")
    parser.add_argument("--partition-size-limit-per-response", action=Once, type=int32, metavar="COUNT")
    return parser


def chosen_action(parser: ToolParser, options: argparse.Namespace) -> str:
    """The one action of a line whose options fit together."""
    chosen = [action for action in _ACTIONS if getattr(options, action)]
    if len(chosen) != 1:
        parser.error("Command must include exactly one action: --list, --describe, --create, --alter or --delete")
    (action,) = chosen
    if options.bootstrap_server is None:
        raise UsageError("--bootstrap-server must be specified")
    if options.delete_config:
        print("--delete-config has no effect: settings of a topic are changed with kafka-configs.", file=sys.stderr)
    if action == "alter" and options.config:
        parser.error(
            'Option combination "[[bootstrap-server], [config]]" can\'t be used with option "[alter]" '
            "(To alter topic configurations, the kafka-configs tool can be used.)"
        )
    if action in ("create", "alter", "delete") and options.topic is None:
        parser.missing("topic")
    if action == "alter" and options.partitions is None:
        parser.missing("partitions")
    if action == "create" and options.replica_assignment is not None:
        for other in ("partitions", "replication_factor"):
            if getattr(options, other) is not None:
                parser.conflict("replica-assignment", other.replace("_", "-"))
    for name, actions in _BELONGS_TO.items():
        if action not in actions and getattr(options, name) not in (None, False):
            parser.conflict(name.replace("_", "-"), action)
    return action


def parse_replica_assignment(text: str) -> tuple[tuple[int, ...], ...]:
    """Parse the replicas of each partition: `1:2,2:3` is two partitions of two replicas.

    Every partition has as many, and none of them twice.
    """
    partitions: list[tuple[int, ...]] = []
    for number, written in enumerate(text.split(",")):
        try:
            brokers = tuple(int32(part) for part in written.split(":"))
        except ValueError:
            remedy = "Write the ids of brokers: colons between the replicas of a partition, commas between partitions."
            raise UsageError(f"{written!r} does not name the brokers of partition {number}.", remedy) from None
        twice = sorted({broker for broker in brokers if brokers.count(broker) > 1})
        if twice:
            listed = ",".join(map(str, twice))
            raise UsageError(f"Partition replica lists may not contain duplicate entries: {listed}")
        if partitions and len(brokers) != len(partitions[0]):
            raise UsageError(f"Partition {number} has different replication factor: {list(brokers)}")
        partitions.append(brokers)
    return tuple(partitions)
