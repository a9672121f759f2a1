"""`ottla topics`: the topics of a cluster."""

import argparse
from typing import TYPE_CHECKING

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.dry_run import add_execute_option
from ottla.cli.output import OutputFormat, print_rows
from ottla.cli.topics.changes import alter_topics, delete_topics
from ottla.cli.topics.description import describe_topics
from ottla.cli.topics.health import Problem, show_health
from ottla.cli.verbs import Verbs, output_format
from ottla.cli.words.whole_numbers import int16, int32

if TYPE_CHECKING:
    from ottla.cli.outcomes import Errors
    from ottla.client import Client

_NAMES = "name, or pattern such as 'logs-*'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of topics."""
    verbs = Verbs(parser)
    _add_questions(verbs)
    _add_changes(verbs)


def _add_questions(verbs: Verbs) -> None:
    listing = verbs.add("list", list_topics, "list topics", epilog="example: ottla topics list 'orders-*' -o json")
    listing.add_argument("topics", nargs="*", metavar="TOPIC", help=f"{_NAMES}; all of them if none is given")
    listing.add_argument("--internal", action="store_true", help="internal topics too")

    describe = verbs.add(
        "describe",
        describe_topics,
        "describe topics: settings, partitions, offsets and sizes",
        epilog="example: ottla topics describe orders",
    )
    describe.add_argument("topics", nargs="+", metavar="TOPIC", help=_NAMES)

    health = verbs.add(
        "health",
        show_health,
        "list the partitions that something is wrong with, and brokers and controllers that do not answer; exit code 1 "
        "if clients are refused, 5 if no controller answers",
        epilog="examples: ottla topics health | ottla topics health 'orders-*' --only under-min-isr",
    )
    health.add_argument("topics", nargs="*", metavar="TOPIC", help=f"{_NAMES}; all of them if none is given")
    health.add_argument("--only", choices=[problem.value for problem in Problem], help="partitions with this problem")


def _add_changes(verbs: Verbs) -> None:
    create = verbs.add(
        "create",
        create_topics,
        "create topics",
        epilog="examples: ottla topics create orders -p 6 -r 3 | "
        "ottla topics create users prices -c cleanup.policy=compact --if-not-exists",
    )
    create.add_argument("topics", nargs="+", metavar="TOPIC")
    create.add_argument("-p", "--partitions", type=int32, default=-1, help="default: the broker's num.partitions")
    create.add_argument(
        "-r", "--replication-factor", type=int16, default=-1, help="default: the broker's default.replication.factor"
    )
    create.add_argument("-c", "--config", action="append", default=[], metavar="KEY=VALUE", help="setting; repeatable")
    create.add_argument("--if-not-exists", action="store_true", help="a topic that is there already is no error")

    alter = verbs.add(
        "alter",
        alter_topics,
        "add partitions to a topic, change its settings",
        epilog="examples: ottla topics alter orders -p 12 | "
        "ottla topics alter orders -c retention.ms=3600000 --execute. What may remove records is shown first and "
        "done with --execute.",
    )
    alter.add_argument("topics", nargs="+", metavar="TOPIC", help=_NAMES)
    alter.add_argument("-p", "--partitions", type=int32, help="number of partitions afterwards")
    alter.add_argument("-c", "--config", action="append", default=[], metavar="KEY=VALUE", help="setting; repeatable")
    alter.add_argument(
        "-d", "--delete-config", action="append", default=[], metavar="KEY", help="back to the default; repeatable"
    )
    add_execute_option(alter, only_for="may lose records")

    delete = verbs.add(
        "delete",
        delete_topics,
        "delete topics; without --execute, show what would be deleted",
        epilog="example: ottla topics delete orders 'test-*' --execute",
    )
    delete.add_argument("topics", nargs="+", metavar="TOPIC", help=_NAMES)
    add_execute_option(delete)


def list_topics(options: argparse.Namespace) -> int:
    """Name, id, partitions and replication factor of every topic."""
    from ottla.cli.outcomes import report_errors

    async def ask(client: "Client") -> "tuple[list[dict[str, object]], Errors]":
        from ottla.cli.words.names import select_topics
        from ottla.protocol.uuids import uuid_to_text

        listed = await client.admin.list_topics(include_internal=True)
        names, missing = select_topics(listed, options.topics)
        if not options.topics:
            names = [topic.name for topic in listed if options.internal or not topic.is_internal]
        described = await client.admin.describe_topics(names)
        rows: list[dict[str, object]] = [
            {
                "topic": topic.name,
                "partitions": len(topic.partitions),
                "replication_factor": topic.replication_factor,
                "internal": topic.is_internal,
                "topic_id": uuid_to_text(topic.topic_id),
            }
            for topic in described.values()
            if topic.error is None
        ]
        return rows, missing

    rows, missing = with_client(cluster_access(options), ask)
    columns = ("topic", "partitions", "replication_factor", "internal", "topic_id")
    print_rows(output_format(options), columns, rows, errors=missing)
    return report_errors("ottla topics", missing)


def create_topics(options: argparse.Namespace) -> int:
    """Make topics that are alike."""
    from ottla.cli.outcomes import error_text, report_errors
    from ottla.cli.words.config_texts import parse_settings

    configs = parse_settings("-c", options.config)

    async def ask(client: "Client") -> "tuple[list[dict[str, object]], Errors]":
        from ottla.client import NewTopic
        from ottla.protocol.errors import ErrorCode
        from ottla.protocol.uuids import uuid_to_text

        topics = [
            NewTopic(name, options.partitions, options.replication_factor, configs)
            for name in dict.fromkeys(options.topics)
        ]
        created = await client.admin.create_topics(topics)
        rows: list[dict[str, object]] = []
        errors = {}
        for name, topic in created.items():
            exists = topic.error is not None and topic.error.code is ErrorCode.TOPIC_ALREADY_EXISTS
            errors[name] = None if exists and options.if_not_exists else topic.error
            is_made = topic.error is None
            rows.append(
                {
                    "topic": name,
                    "created": is_made,
                    "partitions": topic.partitions if is_made else None,
                    "replication_factor": topic.replication_factor if is_made else None,
                    "topic_id": uuid_to_text(topic.topic_id) if is_made else None,
                    "error": error_text(errors[name]),
                }
            )
        return rows, errors

    rows, errors = with_client(cluster_access(options), ask)
    columns = ("topic", "created", "partitions", "replication_factor", "topic_id")
    shape = output_format(options)
    # People read the errors below the table.
    print_rows(shape, columns if shape is OutputFormat.TABLE else (*columns, "error"), rows, errors=errors)
    return report_errors("ottla topics", errors)
