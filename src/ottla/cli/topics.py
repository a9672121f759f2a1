"""`ottla topics`: the topics of a cluster."""

import argparse
from typing import TYPE_CHECKING

from ottla.cli.cluster_access import cluster_access, with_client
from ottla.cli.exits import ExitCode
from ottla.cli.output import print_rows
from ottla.cli.verbs import Verbs, output_format

if TYPE_CHECKING:
    from ottla.client import Client


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of topics."""
    verbs = Verbs(parser)
    listing = verbs.add("list", list_topics, "list topics")
    listing.add_argument("--internal", action="store_true", help="internal topics too")


def list_topics(options: argparse.Namespace) -> int:
    """Name, id, partitions and replication factor of every topic."""

    async def ask(client: "Client") -> list[dict[str, object]]:
        from ottla.protocol.uuids import uuid_to_text

        described = await client.admin.describe_topics()
        return [
            {
                "topic": topic.name,
                "partitions": len(topic.partitions),
                "replication_factor": topic.replication_factor,
                "internal": topic.is_internal,
                "topic_id": uuid_to_text(topic.topic_id),
            }
            for topic in sorted(described.values(), key=lambda topic: topic.name)
            if options.internal or not topic.is_internal
        ]

    rows = with_client(cluster_access(options), ask)
    print_rows(output_format(options), ("topic", "partitions", "replication_factor", "internal", "topic_id"), rows)
    return ExitCode.DONE
