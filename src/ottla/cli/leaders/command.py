"""`ottla leaders elect`: the preferred leaders of partitions, or any leader for those that have none."""

import argparse
import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.dry_run import add_execute_option, may_act, report_outcome
from ottla.cli.exits import UsageError
from ottla.cli.output import Row, print_rows
from ottla.cli.verbs import Verbs, output_format
from ottla.cli.words.partitions import parse_selection, resolve_selections

if TYPE_CHECKING:
    from ottla.cli.leaders.elections import Candidacy
    from ottla.cli.outcomes import Errors
    from ottla.cli.words.partitions import TopicSelection
    from ottla.client import Client, KafkaError, TopicPartition

_COLUMNS: Final = ("topic", "partition", "replicas", "in_sync", "leader", "new_leader", "done")
# How long a broker may take to hear of elections that the controller has held.
_NEWS_TIMEOUT_S: Final = 10.0
_POLL_S: Final = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of leaders."""
    verbs = Verbs(parser)
    elect = verbs.add(
        "elect",
        elect_leaders,
        "give leadership back to preferred replicas, or with --unclean to any replica where nobody leads",
        epilog="examples: ottla leaders elect --all | ottla leaders elect orders:0,2 | "
        "ottla leaders elect orders:1 --unclean --execute. An unclean leader may lack records, which are then lost: "
        "without --execute it is only shown.",
    )
    elect.add_argument("topic", nargs="*", metavar="TOPIC[:PARTITIONS]", help="all of a topic's partitions, or these")
    elect.add_argument("--all", action="store_true", help="every partition that needs it")
    elect.add_argument("--unclean", action="store_true", help="where nobody leads, a replica that may lack records")
    add_execute_option(elect, only_for="may lose records")


def elect_leaders(options: argparse.Namespace) -> int:
    """Elect, and show who led before and who leads now; an election that is not needed is no error."""
    if options.all == bool(options.topic):
        raise UsageError("Name partitions, or all of them.", "Write TOPIC, TOPIC:0,1,4-7, or --all.")
    selections = list(map(parse_selection, options.topic))

    async def work(client: "Client") -> "tuple[list[Row], Errors, bool]":
        chosen = await _candidacies(client, selections, is_unclean=options.unclean)
        if options.all:
            chosen = {one: candidacy for one, candidacy in chosen.items() if candidacy.is_needed}
        is_needed = any(candidacy.is_needed for candidacy in chosen.values())
        if not may_act(options, {}, needs_consent=options.unclean and is_needed):
            rows = [one.row(one.new_leader if one.is_needed else one.leader, is_done=False) for one in chosen.values()]
            return rows, {}, False
        errors = await _elect(client, chosen, is_unclean=options.unclean)
        failed: Errors = {str(one): error for one, error in errors.items() if error and not _is_not_needed(error)}
        leaders = await _leaders(client, {one: chosen[one] for one in chosen if errors[one] is None})
        rows = [
            candidacy.row(leaders.get(one, candidacy.leader), is_done=one in leaders)
            for one, candidacy in chosen.items()
            if str(one) not in failed
        ]
        return rows, failed, True

    rows, errors, acted = with_client(cluster_access(options), work)
    print_rows(output_format(options), _COLUMNS, rows, errors=errors)
    return report_outcome("ottla leaders", errors, acted=acted)


async def _candidacies(
    client: "Client", selections: "list[TopicSelection]", *, is_unclean: bool
) -> "dict[TopicPartition, Candidacy]":
    """The partitions that are meant, all of them without a selection, and what an election would change."""
    from ottla.cli.leaders.elections import preferred_candidacy, unclean_candidacy
    from ottla.client import TopicPartition

    wanted = set(await resolve_selections(client, selections))
    topics = await client.admin.describe_topics({one.topic for one in wanted} if selections else None)
    live = {broker.node_id for broker in (await client.admin.describe_cluster()).brokers}
    found = {
        TopicPartition(topic.name, partition.partition): unclean_candidacy(topic.name, partition, live)
        if is_unclean
        else preferred_candidacy(topic.name, partition)
        for topic in topics.values()
        for partition in topic.partitions
    }
    return {one: found[one] for one in sorted(found) if not selections or one in wanted}


async def _elect(
    client: "Client", chosen: "dict[TopicPartition, Candidacy]", *, is_unclean: bool
) -> "dict[TopicPartition, KafkaError | None]":
    from ottla.client.admin.leaders import ElectionType

    if not chosen:
        return {}
    election = ElectionType.UNCLEAN if is_unclean else ElectionType.PREFERRED
    return await client.admin.elect_leaders(chosen, election=election)


def _is_not_needed(error: "KafkaError") -> bool:
    from ottla.protocol.errors import ErrorCode

    return error.code is ErrorCode.ELECTION_NOT_NEEDED


async def _leaders(
    client: "Client", elected: "Mapping[TopicPartition, Candidacy]"
) -> "dict[TopicPartition, int | None]":
    """Who leads partitions after their election.

    The broker that is asked may not be the one that elected: it is asked again until it has heard of the new epochs.
    A leader that it does not name in time is None.
    """
    deadline_s = time.monotonic() + _NEWS_TIMEOUT_S
    while elected:
        topics = await client.admin.describe_topics({one.topic for one in elected})
        now = {(name, row.partition): row for name, topic in topics.items() for row in topic.partitions}
        leaders = {
            one: now[one].leader_id if now[one].leader_epoch > candidacy.partition.leader_epoch else None
            for one, candidacy in elected.items()
        }
        if None not in leaders.values() or time.monotonic() > deadline_s:
            return leaders
        await asyncio.sleep(_POLL_S)
    return {}
